/** What stands where something could not be read: never that there is none. The problem, with its id and the way to
 * read again, stands above. */

import { Empty } from "./empty.tsx";

export function NotRead() {
  return <Empty title="It could not be read">What there is, is not known.</Empty>;
}
