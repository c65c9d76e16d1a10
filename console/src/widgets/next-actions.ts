/** The platform names next actions by stable codes; these are their sentences. A code this table does
 * not know is shown in its own words, so that a new one is never lost. */

const SENTENCES: Readonly<Record<string, string>> = {
  ask_for_permission: "Ask an administrator of this project or tenant for the permission.",
  ask_for_quota: "Ask an administrator for more quota.",
  cancel_operation: "Or cancel the operation that runs.",
  check_address:
    "Check the link; or ask whoever sent it whether you may see where it leads, and in which project.",
  check_connection: "Check your network connection.",
  check_credentials: "Check the email address and the password.",
  choose_other_kind: "Or choose another kind of machine.",
  choose_other_name: "Choose another name.",
  fix_request: "Correct what is marked and send it again.",
  give_code: "Give the code of your authenticator app, or a recovery code.",
  give_reason: "Give a reason; it is kept in the audit log.",
  read_again: "Read the current state, then decide again.",
  read_policy: "Look at the policy of the project: it says which rule forbids it, and whose.",
  read_state: "Look at the current state first.",
  reload: "Reload the page.",
  remove_users_first: "Remove what uses it first.",
  report_correlation_id: "If it stays, report the correlation id.",
  retry: "Try again.",
  set_up_second_factor: "Set up a second factor on your account's page.",
  sign_in: "Sign in.",
  wait: "Wait a moment, then try again.",
  wait_for_operation: "Wait for the running operation to end.",
};

/** What an app or the platform says should be done: a sentence as it is, a code as its sentence. */
export function nextActionText(said: string): string {
  return /^[a-z][a-z_]*$/.test(said) ? nextActionSentence(said) : said;
}

export function nextActionSentence(action: string): string {
  const sentence = SENTENCES[action];
  if (sentence !== undefined) return sentence;
  const words = action.replaceAll("_", " ").trim();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
