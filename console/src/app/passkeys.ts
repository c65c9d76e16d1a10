/** Passkeys in this browser: making one and signing with one, as the platform asks for it in JSON. */

import { isJsonObject, type JsonObject } from "../api/contract.ts";
import { Problem } from "../api/problem.ts";

/** As the platform sent them. */
type Options = Readonly<Record<string, unknown>>;

/** Whether this browser can; an old one cannot, nor any on plain HTTP from another machine. */
export function passkeysPossible(): boolean {
  return (
    typeof PublicKeyCredential !== "undefined" &&
    typeof PublicKeyCredential.parseCreationOptionsFromJSON === "function"
  );
}

/** A new passkey, on this device or another, for the options of a second factor that was begun. */
export function passkeyMade(options: Options): Promise<JsonObject> {
  const asked = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  return answered(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(asked),
    }),
  );
}

/** What a passkey signed, for the options of a challenge. */
export function passkeySigned(options: Options): Promise<JsonObject> {
  const asked = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  return answered(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(asked),
    }),
  );
}

async function answered(ask: () => Promise<Credential | null>): Promise<JsonObject> {
  try {
    const credential = await ask();
    if (credential instanceof PublicKeyCredential) {
      const plain: unknown = credential.toJSON();
      if (isJsonObject(plain)) return plain;
    }
  } catch (thrown) {
    // A person who changes their mind, and a device that does not answer, look the same on purpose.
    if (!(thrown instanceof DOMException)) throw thrown;
  }
  throw new Problem({
    status: 0,
    code: "passkey_not_used",
    title: "The passkey was not used",
    detail: "The browser gave no passkey. Try again, or use another way.",
    correlationId: null,
  });
}
