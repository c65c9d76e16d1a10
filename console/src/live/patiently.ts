/** Fetches code of the console again when it was lost on its way: a network that changes under the browser
 * (another cable, a tunnel that opens) ends every request. Used where a part of the console is fetched late. */

const PAUSES_MS = [200, 800, 2000];

/** What browsers name in their complaint that a module did not come. */
const ADDRESS = /https?:\/\/\S+/;

type Again = (address: string) => Promise<unknown>;

export async function patiently<T>(load: () => Promise<T>, again: Again = fetched): Promise<T> {
  let attempt = load;
  for (const [at, pause] of PAUSES_MS.entries()) {
    try {
      return await attempt();
    } catch (error) {
      await new Promise((done) => setTimeout(done, pause));
      // Many browsers remember for the life of the page that an address gave nothing: ask by another.
      const address = ADDRESS.exec(String(error))?.[0];
      if (address !== undefined)
        attempt = () => again(`${bare(address)}?again=${at}`) as Promise<T>;
    }
  }
  return attempt();
}

function fetched(address: string): Promise<unknown> {
  return import(/* @vite-ignore */ address);
}

function bare(address: string): string {
  return address.split("?")[0] ?? address;
}
