/** What an app says of a failure, in one sentence. Pure. */

interface Failure {
  readonly message: string;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** What stands between a sentence and the last words of a program that it ends with. */
const BEFORE_LAST_WORDS = /(; its last words)?: $/;

/** The message, up to what its detail says anyway, line by line: a program's output, which as a part of a
 * sentence nobody can read. */
export function failureText({ message, detail = {} }: Failure): string {
  const text = message.trimEnd();
  for (const said of Object.values(detail)) {
    const words = typeof said === "string" ? said.trim() : "";
    if (words === "" || !text.endsWith(words)) continue;
    const before = text.slice(0, -words.length);
    const sentence = before.replace(BEFORE_LAST_WORDS, "");
    if (sentence !== before && sentence !== "") return `${sentence}.`;
  }
  return text;
}
