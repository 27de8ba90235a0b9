import {
  type FollowedNetwork,
  type Interval,
  readFollowedNetworks,
  readIntervals,
  readTotals,
} from '../../../../db/queries/console.ts'
import { listTransactions, type TransactionOverview } from '../../../../db/queries/overview.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { WatchedNode } from '../context.ts'
import type { Room } from '../frame.ts'
import { choiceIn, choices, labelsOf, plot, RANGES, type Range, valuesIn } from '../plot.ts'
import { linkTo, short, span, table, word } from '../table.ts'

const LATE_ROWS = 20
const NODE_WAIT_MS = 40
const NO_TRANSACTIONS = 'There are no transactions in this time.'

const tile = (name: string, count: number, link: { readonly path: string; readonly isBad: boolean }): Html =>
  html`<li><a href="${link.path}" class="${link.isBad && count > 0 ? 'tile bad' : 'tile'}"><strong>${count}</strong> ${name}</a></li>`

const tiles = (followed: readonly FollowedNetwork[], totals: Awaited<ReturnType<typeof readTotals>>): Html => {
  const sum = (count: (each: FollowedNetwork) => number) => followed.reduce((all, each) => all + count(each), 0)
  return html`<ul class="tiles">
${tile(
  'late transactions',
  sum(({ late }) => late),
  { path: '#late', isBad: true },
)}
${tile(
  'unfinished',
  sum(({ unfinished }) => unfinished),
  { path: '/transactions?show=unfinished', isBad: false },
)}
${tile('jobs given up', totals.jobsFailed, { path: '/jobs?failed=yes', isBad: true })}
${tile('jobs due', totals.jobsReady, { path: '/jobs', isBad: false })}
${tile('workers', totals.workers, { path: '/nodes', isBad: false })}
${tile('freezes', totals.freezes, { path: '/freezes', isBad: true })}
</ul>`
}

const headOf = (nodes: readonly WatchedNode[], row: FollowedNetwork): bigint | null => {
  const heights = nodes.flatMap(({ network, height }) => (network === row.network && height !== null ? [height] : []))
  if (heights.length === 0) return null
  const read = [row.trackedBlock, row.indexedBlock].filter((block) => block !== null)
  return [...heights, ...read].reduce((highest, block) => (block > highest ? block : highest))
}

const stalledFor = (nodes: readonly WatchedNode[], row: FollowedNetwork): Html | null => {
  const ages = nodes.flatMap(({ network, state, headAgeSeconds }) =>
    network === row.network && state === 'stalled' && headAgeSeconds !== null ? [headAgeSeconds] : [],
  )
  return ages.length === 0 ? null : html` <span class="quiet">${span(Math.min(...ages))} old</span>`
}

const lag = (head: bigint | null, block: bigint | null, seconds: number | null): Html => {
  if (block === null) return html`–`
  const behind = head === null ? '' : `${head > block ? head - block : 0n} behind, `
  return html`${String(block)} <span class="quiet">${behind}${span(seconds)} ago</span>`
}

const isServed = (nodes: readonly WatchedNode[]) => (row: FollowedNetwork) =>
  row.unfinished > 0 || row.trackedBlock !== null || nodes.some(({ network }) => network === row.network)

const networks = (rows: readonly FollowedNetwork[], nodes: readonly WatchedNode[]): Html =>
  table({
    caption: 'Networks',
    columns: [
      ['Network', ({ network }) => html`<a href="${linkTo('/networks', { network })}">${network}</a>`],
      [
        'Nodes',
        ({ network }) => {
          const states = nodes.filter((node) => node.network === network).map(({ state }) => html`${word(state)} `)
          return states.length === 0 ? html`<span class="quiet">none here</span>` : states
        },
      ],
      ['Head', (row) => html`${String(headOf(nodes, row) ?? '–')}${stalledFor(nodes, row)}`, 'number'],
      ['Tracked to', (row) => lag(headOf(nodes, row), row.trackedBlock, row.trackedSeconds), 'number'],
      ['Indexed to', (row) => lag(headOf(nodes, row), row.indexedBlock, row.indexedSeconds), 'number'],
      ['Unfinished', ({ unfinished }) => unfinished, 'number'],
      ['Late', ({ late }) => late, 'number'],
    ],
    rows,
    none: 'No network is followed, and this process has no node.',
  })

const late = (rows: readonly TransactionOverview[]): Html =>
  html`<section id="late"><h2>What is late, and why</h2>${table({
    caption: 'The oldest transactions that have been live for more than a minute',
    columns: [
      ['Transaction', ({ id }) => html`<a href="/transactions/${id}">${short(id)}</a>`],
      ['Network', ({ network }) => network],
      ['Age', ({ age }) => age, 'number'],
      ['Cause', ({ cause }) => (cause === null ? '–' : word(cause))],
      ['Why', ({ why }) => why, 'long'],
    ],
    rows,
    none: 'Nothing is late.',
  })}</section>`

const plots = (now: Date, range: Range, intervals: readonly Interval[]): Html => {
  const valuesOf = valuesIn(range, intervals)
  const labels = labelsOf(now, range)
  return html`<div class="plots">${plot({
    title: `Transactions in each ${span(RANGES[range].seconds)}`,
    labels,
    series: [
      { name: 'recorded', tone: 'first', form: 'bars', values: valuesOf(({ recorded }) => recorded) },
      { name: 'failed', tone: 'bad', form: 'bars', values: valuesOf(({ failed }) => failed) },
    ],
    format: String,
    none: NO_TRANSACTIONS,
  })}${plot({
    title: 'From recorded to reported',
    labels,
    series: [
      { name: 'median', tone: 'first', form: 'line', values: valuesOf(({ medianSeconds }) => medianSeconds) },
      { name: '95 of 100 below', tone: 'second', form: 'line', values: valuesOf(({ slowSeconds }) => slowSeconds) },
    ],
    format: span,
    none: NO_TRANSACTIONS,
  })}</div>`
}

export const overview: Room = async (ctx, asked) => {
  const choice = choiceIn(ctx, asked)
  const { range, network } = choice
  const [followed, totals, lateRows, intervals, nodes] = await Promise.all([
    readFollowedNetworks(ctx.db),
    readTotals(ctx.db),
    listTransactions(ctx.db, { statuses: ['submitted', 'pending'], late: true, limit: LATE_ROWS }),
    readIntervals(ctx.db, { ...RANGES[range], network }),
    ctx.nodes.read({ waitMs: NODE_WAIT_MS }),
  ])
  const served = followed.filter(isServed(nodes))
  return {
    title: 'Overview',
    body: html`${tiles(followed, totals)}
${networks(served, nodes)}
<h2>Throughput and latency</h2>
${choices(
  '/',
  choice,
  served.map((each) => each.network),
)}
${plots(ctx.now(), range, intervals)}
${late(lateRows)}`,
  }
}
