/** Something the platform knows by its id, as a link to its page where it has one. What it is, its id says. */

import Link from "@cloudscape-design/components/link";
import type { ReactNode } from "react";
import { Named } from "./named.tsx";

const PAGES: Readonly<Record<string, (id: string) => string>> = {
  org: (id) => `/tenants/${id}`,
  proj: (id) => `/projects/${id}/instances`,
  sa: (id) => `/service-accounts/${id}`,
  hook: (id) => `/webhooks/${id}`,
  inst: (id) => `/instances/${id}`,
  op: (id) => `/operations/${id}`,
  opg: (id) => `/operation-groups/${id}`,
  node: (id) => `/admin/nodes/${id}`,
  alloc: (id) => `/allocations/${id}`,
  src: (id) => `/artifact-sources/${id}`,
  art: (id) => `/artifacts/${id}`,
};

/** The page of what carries this id; null where there is none. */
export function pageOf(id: string): string | null {
  return PAGES[id.slice(0, Math.max(0, id.indexOf("_")))]?.(id) ?? null;
}

interface ThingProps {
  readonly id: string;
  /** Shown in place of its name. */
  readonly children?: ReactNode;
}

export function Thing({ id, children }: ThingProps) {
  if (children !== undefined) return <Linked id={id}>{children}</Linked>;
  // On one line, however long: a table does not move when names come to be known.
  return (
    <span className="one-line">
      <Linked id={id}>
        <Named id={id} />
      </Linked>
    </span>
  );
}

function Linked({ id, children }: ThingProps) {
  const page = pageOf(id);
  return page === null ? children : <Link href={page}>{children}</Link>;
}
