import { expect, it } from "vitest";
import { failureText } from "../../../src/widgets/failure-text.ts";

const stderr = "dpkg: error: 1 program not found\nE: it returned (2)";

it.each([
  ["install ended with 100 on m1: ", "install ended with 100 on m1."],
  ["It did not end within 5 s; its last words: ", "It did not end within 5 s."],
])("stops before a program's words, which its detail has: %s", (before, text) => {
  expect(failureText({ message: before + stderr, detail: { exit_code: 100, stderr } })).toBe(text);
});

it.each([
  ["The disk is full", { what: "full" }],
  ["No way to it: the key is wrong", { allocation_id: "alloc_1", stdout: "" }],
  ["It said:\nnothing more", {}],
  [`: ${stderr}`, { stderr }],
])("leaves a message whole that ends in its own words: %s", (message, detail) => {
  expect(failureText({ message, detail })).toBe(message);
});

it("takes a failure without a detail", () => {
  expect(failureText({ message: "It is gone." })).toBe("It is gone.");
});
