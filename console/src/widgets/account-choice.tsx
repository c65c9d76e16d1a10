/** Which of several accounts to sign in to. Shown only to a person who has proved the password or the address. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { SignInAccount } from "../api/contract.ts";

interface AccountChoiceProps {
  readonly accounts: readonly SignInAccount[];
  readonly sending: boolean;
  readonly onChoose: (account: SignInAccount) => void;
  readonly onBack?: () => void;
}

export function AccountChoice({ accounts, sending, onChoose, onBack }: AccountChoiceProps) {
  return (
    <SpaceBetween size="s">
      <Box>You have more than one account. Choose the one to sign in to.</Box>
      {accounts.map((account) => (
        <Button
          key={account.user_id}
          fullWidth
          disabled={sending}
          onClick={() => onChoose(account)}
        >
          {accountName(account)}
        </Button>
      ))}
      {onBack && (
        <Button variant="link" onClick={onBack}>
          Use another email or password
        </Button>
      )}
    </SpaceBetween>
  );
}

/** What people call an account: its tenant. */
export function accountName({ org_id, org_name }: SignInAccount): string {
  return org_name ?? org_id ?? "The platform's operator";
}
