import { type HeadInterval, readHeads } from '../../../../db/queries/cursors.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { choiceIn, choices, labelsOf, plot, RANGES, type Range, valuesIn } from '../plot.ts'
import { span, table, time, word } from '../table.ts'

const NONE = 'Nothing was noted in this time: a worker notes it each minute.'

const plotsOf = (now: Date, range: Range, noted: readonly HeadInterval[]): Html => {
  const valuesOf = valuesIn(range, noted)
  const made = ({ index, head }: HeadInterval): number | null => {
    const before = noted.find((each) => each.index === index - 1)?.head ?? null
    return head === null || before === null ? null : Math.max(0, head - before)
  }
  const [labels, heads] = [labelsOf(now, range), { name: 'Head', values: valuesOf(({ head }) => head) }]
  return html`<div class="plots">${plot({
    title: 'Blocks behind the head, at the most',
    labels,
    also: [heads],
    series: [
      { name: 'tracker', tone: 'first', form: 'line', values: valuesOf(({ trackedBehind }) => trackedBehind) },
      { name: 'indexer', tone: 'second', form: 'line', values: valuesOf(({ indexedBehind }) => indexedBehind) },
    ],
    format: String,
    none: NONE,
  })}${plot({
    title: `New blocks in each ${span(RANGES[range].seconds)}`,
    labels,
    also: [heads],
    series: [{ name: 'blocks', tone: 'first', form: 'bars', values: valuesOf(made) }],
    format: String,
    none: NONE,
  })}</div>`
}

const section = (
  now: Date,
  { network, range }: { readonly network: string; readonly range: Range },
  noted: readonly HeadInterval[],
) => {
  const head = noted.findLast((each) => each.head !== null)?.head ?? null
  return html`<section><h2>${network}${head === null ? null : html` <span class="quiet">head ${head}</span>`}</h2>${plotsOf(now, range, noted)}</section>`
}

export const networks: Room = async (ctx, asked) => {
  const choice = choiceIn(ctx, asked)
  const byNetwork = Map.groupBy(await readHeads(ctx.db, RANGES[choice.range]), ({ network }) => network)
  const named = [...byNetwork.keys()]
  const shown = choice.network === null ? named : [choice.network]
  return {
    title: 'Networks',
    body: html`${choices('/networks', choice, named)}
${shown.length === 0 ? html`<p class="none">${NONE}</p>` : null}
${shown.map((network) => section(ctx.now(), { network, range: choice.range }, byNetwork.get(network) ?? []))}`,
  }
}

const NODE_WAIT_MS = 2_000

export const nodes: Room = async (ctx) => ({
  title: 'Nodes',
  body: html`<p class="quiet">Asked by this process, now. Workers and APIs have metrics of their own.</p>
${table({
  caption: 'Nodes',
  columns: [
    ['Network', ({ network }) => network],
    ['Node', ({ name }) => name, 'long'],
    ['State', ({ state }) => word(state)],
    ['Newest block', ({ height }) => String(height ?? '–'), 'number'],
    ['Its age', ({ headAgeSeconds }) => span(headAgeSeconds), 'number'],
    ['Behind', ({ behindSeconds }) => `${behindSeconds} s`, 'number'],
    ['Latency', ({ latencyMs }) => (latencyMs === null ? '–' : `${Math.round(latencyMs)} ms`), 'number'],
    [
      'Last trouble',
      ({ lastTrouble }) => (lastTrouble === null ? '–' : html`${word(lastTrouble.trouble)} ${time(lastTrouble.at)}`),
    ],
  ],
  rows: await ctx.nodes.read({ waitMs: NODE_WAIT_MS }),
  none: 'This process has no node: set the …_RPC_URL of the networks.',
})}`,
})

/** The console sends no mail and makes no public links. */
const CHECKS_OF_OTHERS = ['PUBLIC_BASE_URL', 'mail']

/** What `cli doctor` says, as this process finds the installation. */
export const doctor: Room = async (ctx) => {
  const findings = await ctx.examine()
  return {
    title: 'Installation',
    body: html`<p class="quiet">As this process found it within the last ten seconds, with its own variables. <code>bun run cli doctor</code> looks with those of the API.</p>
${table({
  caption: 'Checks',
  columns: [
    ['Check', ({ check }) => check],
    ['State', ({ state }) => word(state)],
    ['Found', ({ found }) => found, 'long'],
    ['What to do', ({ advice }) => advice, 'long'],
  ],
  rows: findings.filter(({ check }) => !CHECKS_OF_OTHERS.includes(check)),
  none: 'Nothing was checked.',
})}`,
  }
}
