/** What the person who is signed in may do, as the platform said at sign-in. It decides what is offered;
 * whether it is allowed, the platform decides again at every request. */

import type { Permission, Place, Whoami } from "../api/contract.ts";
import { useStore } from "../live/store.ts";
import { session } from "./session.ts";

export type Can = (permission: Permission, place?: Place) => boolean;

/** Asks for permissions of whoever is signed in. */
export function useCan(): Can {
  const current = useStore(session);
  return canOf("who" in current ? current.who : null);
}

export function canOf(who: Whoami | null): Can {
  const granted = who?.permissions ?? [];
  return (permission, place = { org_id: null, project_id: null }) =>
    granted.some((grant) => grant.permissions.includes(permission) && covers(grant, place));
}

/** Whether the person holds a permission anywhere at all. */
export function canSomewhere(who: Whoami | null, permission: Permission): boolean {
  return (who?.permissions ?? []).some((grant) => grant.permissions.includes(permission));
}

function covers(grant: Whoami["permissions"][number], place: Place): boolean {
  const { kind, org_id = null, project_id = null } = grant.scope;
  const here = org_id === place.org_id && project_id === place.project_id;
  if (grant.only_here || here) return here;
  if (kind === "platform") return true;
  return kind === "tenant" && org_id === place.org_id;
}
