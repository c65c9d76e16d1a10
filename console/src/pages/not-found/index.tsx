/** Shown for an address that names no page. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { HOME, useLocation } from "../../app/router.tsx";

export default function NotFoundPage() {
  const { pathname } = useLocation();
  return (
    <ContentLayout header={<Header variant="h1">There is no such page</Header>}>
      <SpaceBetween size="l">
        <Box>
          Nothing is at <Box variant="code">{pathname}</Box>. The link may be old, or mistyped.
        </Box>
        <Button href={HOME}>Go to the start page</Button>
      </SpaceBetween>
    </ContentLayout>
  );
}
