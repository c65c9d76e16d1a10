/** The paths the console uses and `openapi/v1.json` does not describe yet, typed by hand. Imported by
 * contract.ts alone. A path leaves this file when it is in the contract; the file leaves with the last. */

export interface AuthMethods {
  local: boolean;
  oidc?: { name?: string | null; start_url: string } | null;
}

export interface Whoami {
  id: string;
  email?: string | null;
  display_name?: string | null;
}

export interface ProvisionalPaths {
  "/api/v1/auth/methods": {
    get: { responses: { 200: Json<AuthMethods>; default: Json<unknown> } };
  };
  "/api/v1/whoami": {
    get: { responses: { 200: Json<Whoami>; default: Json<unknown> } };
  };
  "/api/v1/sessions": {
    post: {
      requestBody: { content: { "application/json": { email: string; password: string } } };
      responses: { 201: Json<unknown>; default: Json<unknown> };
    };
  };
  "/api/v1/sessions/current": {
    delete: { responses: { 204: { content?: never }; default: Json<unknown> } };
  };
}

interface Json<T> {
  content: { "application/json": T };
}
