/** Keeps the page still under a finger: what moves between press and release takes the click with it, since a
 * click is both on the same thing. Waited for by whatever changes the page by itself. */

/** Longer than this is no click; text that is being selected must not stop the page. */
const LONGEST_MS = 1_000;

interface Press {
  readonly over: Promise<void>;
  readonly end: () => void;
  /** The page was scrolled, and does not know it yet. */
  scrolled: boolean;
}

let press: Press | null = null;

/** Resolves when nothing is pressed. */
export function released(): Promise<void> {
  return press?.over ?? Promise.resolve();
}

function begin(): void {
  press?.end();
  let resolve: () => void = () => undefined;
  const over = new Promise<void>((done) => {
    resolve = done;
  });
  const timer = setTimeout(end, LONGEST_MS);
  const begun: Press = { over, end, scrolled: false };
  press = begun;

  function end(): void {
    clearTimeout(timer);
    if (press === begun) press = null;
    resolve();
    if (begun.scrolled) document.dispatchEvent(new Event("scroll", { bubbles: true }));
    begun.scrolled = false;
  }
}

/** Browsers report a scroll with the next frame: on a busy machine that comes after the press on what was scrolled.
 * An open list that hears of it may move to the other side of its field. */
function hold(scroll: Event): void {
  if (press === null || scroll.target !== document) return;
  scroll.stopImmediatePropagation();
  press.scrolled = true;
}

/** The click comes right behind the release. */
function finish(): void {
  const begun = press;
  setTimeout(() => begun?.end());
}

window.addEventListener("pointerdown", begin, { capture: true });
window.addEventListener("pointerup", finish, { capture: true });
window.addEventListener("pointercancel", finish, { capture: true });
window.addEventListener("scroll", hold, { capture: true });
