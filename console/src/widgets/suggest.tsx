/** A field for an id, or for a word that rules know: one chooses by what people call it among what is listed, and
 * may put in anything else as it is. Called by pages that ask about somebody or something. What cannot be listed
 * takes nothing away: the field takes ids all the same. */

import Autosuggest from "@cloudscape-design/components/autosuggest";
import type { Live } from "../live/use-live.ts";
import { shortId } from "./words.ts";

export interface Suggestion {
  readonly value: string;
  /** What people know it by. */
  readonly called: string;
  readonly description?: string;
}

/** What is listed, as it is read; null where nothing is. */
export type Suggestions = Pick<
  Live<readonly Suggestion[]>,
  "value" | "problem" | "loading" | "readNow"
>;

interface SuggestProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly among: Suggestions;
  readonly placeholder?: string;
}

export function Suggest({ value, onChange, among, placeholder = "" }: SuggestProps) {
  const known = toldApart(among.value ?? []);
  return (
    <Autosuggest
      value={known.find((one) => one.value === value)?.called ?? value}
      onChange={({ detail }) =>
        onChange(known.find(({ called }) => called === detail.value)?.value ?? detail.value)
      }
      options={known.map(({ value: id, called, description = "" }) => ({
        value: called,
        description,
        filteringTags: [id],
      }))}
      enteredTextLabel={(text) => `Use “${text}”`}
      placeholder={placeholder}
      statusType={statusOf(among)}
      loadingText="Reading"
      errorText={among.problem?.title ?? "It could not be read"}
      recoveryText="Read again"
      onLoadItems={() => among.problem !== null && among.readNow()}
    />
  );
}

/** Those that are called the same also by the ends of their ids. */
function toldApart(suggestions: readonly Suggestion[]): readonly Suggestion[] {
  const often = new Map<string, number>();
  for (const { called } of suggestions) often.set(called, (often.get(called) ?? 0) + 1);
  return suggestions.map((one) =>
    often.get(one.called) === 1 ? one : { ...one, called: `${one.called} (${shortId(one.value)})` },
  );
}

function statusOf({ problem, loading }: Suggestions) {
  if (problem !== null) return "error" as const;
  return loading ? ("loading" as const) : ("finished" as const);
}
