/** The second step of a deploy: what the version asks for, drawn from its manifest. */

import type { JsonObject } from "../../api/contract.ts";
import type { FieldError } from "../../api/problem.ts";
import { useProject } from "../../app/place.ts";
import { SchemaForm } from "../../forms/schema-form.tsx";
import type { Input } from "./input.ts";
import type { Asked } from "./read.ts";

interface ConfigureProps {
  readonly asked: Asked;
  readonly input: Input;
  readonly onChange: (settings: JsonObject) => void;
  readonly errors: readonly FieldError[];
  readonly showAll: boolean;
  readonly projectId: string;
  readonly slug: string;
}

export function Configure({
  asked: { form, manifest },
  input,
  onChange,
  errors,
  showAll,
  projectId,
  slug,
}: ConfigureProps) {
  const project = useProject();
  const operation = manifest.operations.find(({ kind }) => kind === form.kind);
  return (
    <SchemaForm
      schema={input.schema}
      value={input.value}
      onChange={onChange}
      errors={errors}
      showAll={showAll}
      fixed={form.fixed}
      context={{
        place: { org_id: project?.org_id ?? null, project_id: projectId },
        manifest,
        slug,
        ...(operation === undefined ? {} : { operation }),
      }}
    />
  );
}
