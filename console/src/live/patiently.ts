/** Fetches code of the console again when it was lost on its way: a network that changes under the browser
 * (another cable, a tunnel that opens) ends every request. Used where a part of the console is fetched late. */

const PAUSES_MS = [200, 800, 2000];

export async function patiently<T>(load: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES_MS) {
    try {
      return await load();
    } catch {
      await new Promise((done) => setTimeout(done, pause));
    }
  }
  return load();
}
