/** The part of the public contract the console uses, typed by hand until `openapi/v1.json` is there.
 * Imported by contract.ts alone; delete it when that file points at the generated `schema`. */

export interface ReadinessCheck {
  name: string;
  ok: boolean;
  detail?: string | null;
}

export interface Readiness {
  status: "ready" | "not_ready";
  checks: ReadinessCheck[];
}

export interface Version {
  version: string;
  schema_revision: number | string | null;
}

export interface AuthMethods {
  local: boolean;
  oidc?: { name?: string | null; start_url: string } | null;
}

export interface SignIn {
  email: string;
  password: string;
}

export interface Whoami {
  id: string;
  email?: string | null;
  display_name?: string | null;
}

export interface paths {
  "/api/v1/health/ready": Get<Readiness, { 503: Json<Readiness> }>;
  "/api/v1/version": Get<Version>;
  "/api/v1/auth/methods": Get<AuthMethods>;
  "/api/v1/whoami": Get<Whoami>;
  "/api/v1/sessions": {
    post: {
      requestBody: { content: { "application/json": SignIn } };
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

interface Get<T, Others = unknown> {
  get: { responses: { 200: Json<T>; default: Json<unknown> } & Others };
}
