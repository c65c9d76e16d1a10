/** A sentence of the platform's or an app's: what it calls by an id is called by its name, and leads to its page;
 * its lines stay lines. Nothing in it is taken for markup. */

import { MachineName } from "./machine.tsx";
import { Thing } from "./thing.tsx";

/** As the platform makes them: what it is, and 26 characters. */
const ID = /\b([a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25})\b/;
const EVERY_ID = new RegExp(ID, "g");

interface ProseProps {
  readonly children: string;
  /** Without links: where it stands inside of one, or on a ground that has its own colours. */
  readonly plain?: boolean;
}

export function Prose({ children, plain = false }: ProseProps) {
  // Split at a group, the ids stand at the odd places.
  const parts = children.split(EVERY_ID).map((part, at) => ({ part, place: `${at}` }));
  return (
    <span className="prose">
      {parts.map(({ part, place }, at) =>
        at % 2 === 0 ? part : <Mention key={place} id={part} plain={plain} />,
      )}
    </span>
  );
}

/** Whether the whole text is an id. */
export function isId(text: string): boolean {
  return ID.exec(text)?.[0] === text;
}

function Mention({ id, plain }: { readonly id: string; readonly plain: boolean }) {
  const name = id.startsWith("alloc_") ? <MachineName allocationId={id} /> : id;
  return plain ? name : <Thing id={id}>{name}</Thing>;
}
