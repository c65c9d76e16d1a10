/** A sentence of the platform's or an app's: what it calls by an id is called by its name, and leads to its page;
 * its lines stay lines. Nothing in it is taken for markup. */

import { ID, Named } from "./named.tsx";
import { Thing } from "./thing.tsx";

/** Split at a group, the ids stand at the odd places. */
const AT_IDS = new RegExp(`(${ID.source})`);

interface ProseProps {
  readonly children: string;
  /** Without links: where it stands inside of one, or on a ground that has its own colours. */
  readonly plain?: boolean;
}

export function Prose({ children, plain = false }: ProseProps) {
  const parts = children.split(AT_IDS).map((part, at) => ({ part, place: `${at}` }));
  return (
    <span className="prose">
      {parts.map(({ part, place }, at) =>
        at % 2 === 0 ? part : <Mention key={place} id={part} plain={plain} />,
      )}
    </span>
  );
}

function Mention({ id, plain }: { readonly id: string; readonly plain: boolean }) {
  const name = <Named id={id} />;
  return plain ? name : <Thing id={id}>{name}</Thing>;
}
