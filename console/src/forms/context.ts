/** What the fields of a form may need to know of where it is filled in: whose allocations, which
 * instance, which app. Given by whoever draws the form. */

import { createContext, useContext } from "react";
import type {
  AppInstance,
  Json,
  JsonObject,
  Manifest,
  Member,
  OperationSpec,
  Place,
} from "../api/contract.ts";
import type { Field } from "./schema.ts";

export interface FormContext {
  readonly place: Place;
  /** The whole value of the form, for what one field has to know of another. */
  readonly value: JsonObject;
  /** The operation whose input it is. */
  readonly operation?: OperationSpec;
  readonly manifest?: Manifest;
  readonly instance?: AppInstance;
  readonly members?: readonly Member[];
  /** The app, where there is no instance of it yet. */
  readonly slug?: string;
}

export const FormPlace = createContext<FormContext>({
  place: { org_id: null, project_id: null },
  value: {},
});

export function useFormContext(): FormContext {
  return useContext(FormPlace);
}

/** What every widget gets. */
export interface WidgetProps {
  readonly field: Field;
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
  readonly disabled: boolean;
  readonly invalid: boolean;
}
