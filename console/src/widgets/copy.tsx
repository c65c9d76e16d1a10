/** A text somebody will want elsewhere: an id, a command, an address; with the button that copies it. */

import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";

interface CopyProps {
  readonly text: string;
  /** What it is, for whoever does not see the text beside the button. */
  readonly what: string;
  /** Shown in place of the text, when that is long. */
  readonly shown?: string;
}

export function Copy({ text, what, shown }: CopyProps) {
  return (
    <span className="wrap-anywhere">
      <CopyToClipboard
        variant="inline"
        textToCopy={text}
        {...(shown === undefined ? {} : { textToDisplay: shown })}
        copyButtonAriaLabel={`Copy ${what}`}
        copySuccessText="Copied"
        copyErrorText="It could not be copied"
      />
    </span>
  );
}

/** Several lines, as they are, with the button that copies them. */
export function CopyBlock({ text, what }: CopyProps) {
  return (
    <div className="copy-block">
      <pre className="pre">{text}</pre>
      <CopyToClipboard
        variant="icon"
        textToCopy={text}
        copyButtonAriaLabel={`Copy ${what}`}
        copySuccessText="Copied"
        copyErrorText="It could not be copied"
      />
    </div>
  );
}
