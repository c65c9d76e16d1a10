/** Fetches code of the console again when it was lost on its way: a network that changes under the browser
 * (another cable, a tunnel that opens) ends every request. Used where a part of the console is fetched late. */

const PAUSES_MS = [200, 800, 2000];

/** What browsers name in their complaint that a module did not come; of a style sheet the build's own loader tells. */
const ADDRESS = /https?:\/\/\S+/;
const SHEET = /\.css(\?|$)/;

type Again = (address: string) => Promise<unknown>;

export async function patiently<T>(load: () => Promise<T>, again: Again = fetched): Promise<T> {
  let module = load;
  let attempt = load;
  for (const [at, pause] of PAUSES_MS.entries()) {
    try {
      return await attempt();
    } catch (error) {
      await new Promise((done) => setTimeout(done, pause));
      // Many browsers remember for the life of the page that an address gave nothing: ask by another.
      const address = ADDRESS.exec(String(error))?.[0];
      if (address !== undefined && !SHEET.test(address)) {
        module = () => again(`${bare(address)}?again=${at}`) as Promise<T>;
      }
      attempt = () => styled(at).then(module);
    }
  }
  return attempt();
}

/** Asks for the style sheets that did not come: the build's loader asks for each once, and names one of them. One that
 * is only late comes twice, which changes nothing. */
async function styled(at: number): Promise<void> {
  const links = document.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]:not([data-lost])");
  await Promise.all([...links].filter(({ sheet }) => sheet === null).map((one) => anew(one, at)));
}

function anew(lost: HTMLLinkElement, at: number): Promise<void> {
  lost.dataset.lost = "";
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = `${bare(lost.href)}?again=${at}`;
  return new Promise((done, fail) => {
    link.addEventListener("load", () => done());
    link.addEventListener("error", () => fail(new Error(`${link.href} did not come`)));
    document.head.append(link);
  });
}

function fetched(address: string): Promise<unknown> {
  return import(/* @vite-ignore */ address);
}

function bare(address: string): string {
  return address.split("?")[0] ?? address;
}
