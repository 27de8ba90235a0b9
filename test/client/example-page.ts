// An example of the client's README as a page of an app, at an origin of its own.

import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const PAGE = `<!doctype html><html lang="en"><title>App</title><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/app.js"></script></html>`

/**
 * Bundles a program with what is installed in a folder, and serves it.
 * @param input.replaced parts of its text that are for its reader to fill in, and what stands for them here
 */
export const startExamplePage = async (input: {
  readonly folder: string
  readonly text: string
  readonly replaced: Readonly<Record<string, string>>
}) => {
  const file = join(await mkdtemp(join(input.folder, 'page-')), 'app.tsx')
  const text = Object.entries(input.replaced).reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`The example has no ${from}.`)
    return before.replaceAll(from, to)
  }, input.text)
  await writeFile(file, text)
  const built = await Bun.build({
    entrypoints: [file],
    target: 'browser',
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  const script = (await Promise.all(built.outputs.map((output) => output.text()))).join('')
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) =>
      new URL(url).pathname === '/app.js'
        ? new Response(script, { headers: { 'content-type': 'text/javascript' } })
        : new Response(PAGE, { headers: { 'content-type': 'text/html' } }),
  })
  return { origin: `http://localhost:${server.port}`, stop: () => server.stop(true) }
}
