import { html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { span, table, time, word } from '../table.ts'

const NODE_WAIT_MS = 2_000

/** How each node is, as this process sees it. */
export const nodes: Room = async (ctx) => ({
  title: 'Nodes',
  body: html`<p class="quiet">Asked by this process, now. Workers and APIs have metrics of their own.</p>
${table({
  caption: 'Nodes',
  columns: [
    { head: 'Network', cell: ({ network }) => network },
    { head: 'Node', cell: ({ name }) => name, is: 'long' },
    { head: 'State', cell: ({ state }) => word(state) },
    { head: 'Newest block', cell: ({ height }) => String(height ?? '–'), is: 'number' },
    { head: 'Its age', cell: ({ headAgeSeconds }) => span(headAgeSeconds), is: 'number' },
    { head: 'Behind', cell: ({ behindSeconds }) => `${behindSeconds} s`, is: 'number' },
    {
      head: 'Latency',
      cell: ({ latencyMs }) => (latencyMs === null ? '–' : `${Math.round(latencyMs)} ms`),
      is: 'number',
    },
    {
      head: 'Last trouble',
      cell: ({ lastTrouble }) =>
        lastTrouble === null ? '–' : html`${word(lastTrouble.trouble)} ${time(lastTrouble.at)}`,
    },
  ],
  rows: await ctx.nodes.read({ waitMs: NODE_WAIT_MS }),
  none: 'This process has no node: set the …_RPC_URL of the networks.',
})}`,
})
