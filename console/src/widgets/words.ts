/** Small texts. Pure. */

/** "cleanup_blocked" → "Cleanup blocked", "memory_mib" → "Memory MiB". */
export function sentence(word: string): string {
  const words = word
    .replaceAll("_", " ")
    .trim()
    .replaceAll(SHORT, (one) => ABBREVIATIONS[one] ?? one);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Written as people write them, where data spells all small. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  cpu: "CPU",
  cpus: "CPUs",
  gib: "GiB",
  gpu: "GPU",
  gpus: "GPUs",
  ip: "IP",
  mib: "MiB",
  ssh: "SSH",
  url: "URL",
};

const SHORT = new RegExp(`\\b(?:${Object.keys(ABBREVIATIONS).join("|")})\\b`, "g");

/** How many machines something stands on, where its app has no words for it. */
export function topologyName(topology: string): string {
  if (topology === "single_node") return "Single machine";
  return topology === "multi_node" ? "Several machines" : sentence(topology);
}

/** "1 machine", "3 machines". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** The end of an id is what tells it from others; the whole stands where it can be copied. */
export function shortId(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, id.indexOf("_") + 1)}…${id.slice(-6)}`;
}

/** A byte count in the unit people say. */
export function bytes(number: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = number;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toFixed(value < 10 && unit > 0 ? 1 : 0))} ${units[unit]}`;
}
