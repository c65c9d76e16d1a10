/** JSON pointers (RFC 6901): reading and writing values of a form. Pure. */

import { isJsonObject, type Json, type JsonObject } from "../api/contract.ts";

export function pointerParts(pointer: string): string[] {
  if (pointer === "") return [];
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function pointerOf(...parts: readonly (string | number)[]): string {
  return parts
    .map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** What is at a pointer; undefined where it leads nowhere. */
export function readAt(value: unknown, pointer: string): unknown {
  let current: unknown = value;
  for (const part of pointerParts(pointer)) {
    if (Array.isArray(current)) current = current[Number(part)];
    else if (isJsonObject(current)) current = current[part];
    else return undefined;
  }
  return current;
}

/** A copy with another value at a pointer; undefined takes the field away. */
export function writtenAt(value: JsonObject, pointer: string, next: Json | undefined): JsonObject {
  const [name, ...rest] = pointerParts(pointer);
  if (name === undefined) return isJsonObject(next) ? next : value;
  if (rest.length === 0) {
    const { [name]: _, ...others } = value;
    return next === undefined ? others : { ...value, [name]: next };
  }
  const inner = value[name];
  return {
    ...value,
    [name]: writtenAt(isJsonObject(inner) ? inner : {}, pointerOf(...rest), next),
  };
}
