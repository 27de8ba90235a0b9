import { pageOfTransactions, TRANSACTION_FILTERS, type TransactionFilter } from '../../../../db/queries/console.ts'
import type { TransactionOverview } from '../../../../db/queries/overview.ts'
import { displayGwei } from '../../../platform/amount.ts'
import { AppError } from '../../../platform/errors.ts'
import { UUID } from '../../../platform/http/text.ts'
import { type Html, html, type Value } from '../../../platform/pages/page.ts'
import { coinAmount } from '../../../signing/token.ts'
import { type Inspection, inspectTransaction } from '../../../signing/transactions/inspect.ts'
import type { ConsoleCtx } from '../context.ts'
import { type Asked, mayAct, type Room, type Shown } from '../frame.ts'
import {
  choiceLink,
  code,
  facts,
  linkTo,
  pager,
  projectForm,
  READ_ROWS,
  readProjects,
  short,
  shown,
  table,
  time,
  uuidIn,
  walletLink,
  word,
} from '../table.ts'

const PATH = '/transactions'
const NAMES: Readonly<Record<TransactionFilter, string>> = { all: 'All', unfinished: 'Unfinished', failed: 'Failed' }

/** The amount in the network's coin; a network that this process does not know has base units. */
const amountOf = ({ chains }: ConsoleCtx, { network, value }: TransactionOverview): string => {
  const chain = chains.known.find((each) => each.network === network)
  return chain === undefined ? `${value} base units` : coinAmount(chain, value)
}

const list = (ctx: ConsoleCtx, rows: readonly TransactionOverview[]): Html =>
  table({
    caption: 'Transactions, newest first',
    columns: [
      ['Transaction', ({ id }) => html`<a href="${PATH}/${id}">${short(id)}</a>`],
      ['Recorded', ({ createdAt }) => time(createdAt)],
      ['Network', ({ network }) => network],
      ['Kind', ({ kind }) => kind],
      ['Value', (row) => amountOf(ctx, row), 'number'],
      ['Nonce', ({ nonce }) => nonce, 'number'],
      ['Status', ({ status, late }) => html`${word(status)}${late ? html` ${word('late')}` : null}`],
      ['Why', ({ why, error }) => why ?? error ?? '', 'long'],
    ],
    rows,
    none: 'There are no transactions here.',
  })

const look = html`<form class="filter" method="get" action="${PATH}/find">
<label>Id, or hash of an attempt <input name="q" required maxlength="80" autocomplete="off" spellcheck="false"></label>
<button class="small">Open</button>
</form>`

export const transactions: Room = async (ctx, asked) => {
  const { projects, named } = await readProjects(ctx, asked)
  const filter = TRANSACTION_FILTERS.find((each) => each === asked.query.get('show')) ?? 'all'
  const after = uuidIn(asked.query.get('after'))
  const rows = await pageOfTransactions(ctx.db, { filter, projectId: named, after, limit: READ_ROWS })
  const query = { project: named, show: filter === 'all' ? null : filter }
  const choices = TRANSACTION_FILTERS.map((each) =>
    choiceLink(linkTo(PATH, { ...query, show: each === 'all' ? null : each }), NAMES[each], each === filter),
  )
  const keep = filter === 'all' ? html`` : html`<input type="hidden" name="show" value="${filter}">`
  return {
    title: 'Transactions',
    body: html`<div class="filters">${projectForm({ path: PATH, projects, chosen: named, all: 'all projects', fields: keep })}${look}</div>
<p class="choices">${choices}</p>
${list(ctx, shown(rows))}
${pager({ path: PATH, query, after, rows })}`,
  }
}

/** A page waits no longer for a node. */
const NODE_MAX_MS = 1_500

const HASH = /^0x[0-9a-f]{64}$/i

/** @throws invalid_input */
const keyOf = (text: string): { readonly id: string } | { readonly hash: string } => {
  if (HASH.test(text)) return { hash: text.toLowerCase() }
  if (UUID.test(text)) return { id: text.toLowerCase() }
  throw new AppError('invalid_input', 'This must be the id of a transaction or the hash of an attempt.')
}

const nodeFacts = (ctx: ConsoleCtx, { transaction, node }: Inspection): readonly (readonly [string, Value])[] => {
  if (node === null) return []
  if (node.kind === 'unavailable') return [['Node now', node.sentence]]
  const { minedCount, pendingCount, balance } = node.accountState
  const chain = ctx.chains.of(transaction.network)
  const counts = `${minedCount} of the signer’s transactions are mined, ${pendingCount} with the pool; it has ${coinAmount(chain, balance)}`
  const fee = node.feeBelowBaseFee ? '; the next base fee is above what the chosen attempt offers' : ''
  return [['Node now', counts + fee]]
}

const factsOf = (ctx: ConsoleCtx, inspection: Inspection): Html => {
  const row = inspection.transaction
  const block = row.minedBlockNumber === null ? null : `${row.minedBlockNumber}, ${row.minedBlockHash}`
  const error = row.errorCode === null ? null : `${row.errorCode}: ${row.error}`
  return facts([
    [
      'Status',
      html`${word(row.status)}${row.final ? html` ${word('final')}` : null}${row.late ? html` ${word('late')}` : null}`,
    ],
    ['Why', row.why ?? error ?? '–'],
    row.waitsFor !== null && ['Waits for', html`<a href="${PATH}/${row.waitsFor}">${code(row.waitsFor)}</a>`],
    ['Network', row.network],
    ['Signer', html`${code(row.signerAddress)}, nonce ${row.nonce}`],
    row.contractWallet !== null && ['For the contract wallet', code(row.contractWallet)],
    ['Kind', row.kind],
    ['To', row.to === null ? 'no address: a creation, or a call of the runtime' : code(row.to)],
    ['Value', amountOf(ctx, row)],
    ['Project', html`<a href="${linkTo(PATH, { project: row.projectId })}">${code(row.projectId)}</a>`],
    ['Wallet', walletLink(row)],
    ['Attempt', row.cancelling ? 'the cancel' : `${row.attempt} of ${row.rungs}`],
    ['Hash', code(row.shownHash)],
    ['Block', code(block)],
    ['Recorded', time(row.createdAt)],
    ['Accepted by a node', time(row.broadcastAt)],
    ['Reported', time(row.settledAt)],
    ['Climbs', time(row.climbsAt)],
    ['Is given up', time(row.givesUpAt)],
    ...nodeFacts(ctx, inspection),
  ])
}

const attemptsOf = ({ attempts }: Inspection): Html =>
  table({
    caption: 'Attempts',
    columns: [
      ['No.', ({ attempt }) => attempt, 'number'],
      ['Kind', ({ kind }) => kind.replaceAll('_', ' ')],
      ['Hash', ({ hash }) => code(hash), 'long'],
      ['Fee cap', ({ maxFeePerGas }) => (maxFeePerGas === null ? '–' : displayGwei(maxFeePerGas)), 'number'],
      ['Accepted', ({ acceptedAt }) => time(acceptedAt)],
      [
        'State',
        ({ chosen, mined }) => html`${chosen ? html`${word('chosen')} ` : null}${mined ? word('mined') : null}`,
      ],
      ['Refusal', ({ refusal }) => refusal, 'long'],
    ],
    rows: attempts,
    none: 'It has no attempts.',
  })

const jobsOf = ({ jobs }: Inspection): Html =>
  table({
    caption: 'Jobs',
    columns: [
      ['Job', ({ id }) => String(id)],
      ['State', ({ state }) => word(state)],
      ['Due', ({ runAt }) => time(runAt)],
      ['Attempts', ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}`, 'number'],
      ['Error', ({ lastError }) => lastError, 'long'],
    ],
    rows: jobs,
    none: 'No job is about it.',
  })

const auditOf = ({ acts }: Inspection): Html =>
  table({
    caption: 'Audit',
    columns: [
      ['Row', ({ id }) => String(id), 'number'],
      ['At', ({ at }) => time(at)],
      ['Action', ({ action }) => action.replaceAll('_', ' ')],
      ['By', ({ actor }) => code(actor), 'long'],
    ],
    rows: acts,
    none: 'The audit has nothing about it.',
  })

const actionsOf = (asked: Asked, { transaction }: Inspection): Html => {
  const { id, final, minedBlockHash, cancelling } = transaction
  if (final || minedBlockHash !== null || !mayAct(asked)) return html``
  return html`<p class="row"><a class="button" href="${linkTo('/do/transaction-retry', { id })}">Send again…</a>
${cancelling ? null : html`<a class="button" href="${linkTo('/do/transaction-cancel', { id })}">Give up…</a>`}</p>
<p class="hint">To offer a higher fee it is signed again, which needs the wallet’s credential: <code>POST /transactions/speed-up</code>.</p>`
}

/** All about one transaction. @param key its id, or the hash of an attempt. */
export const transaction = async (ctx: ConsoleCtx, asked: Asked, key: string): Promise<Shown> => {
  const inspection = await inspectTransaction(ctx, keyOf(key), { nodeMaxMs: NODE_MAX_MS })
  return {
    title: `Transaction ${inspection.transaction.id}`,
    body: html`${actionsOf(asked, inspection)}
${factsOf(ctx, inspection)}
${attemptsOf(inspection)}
${jobsOf(inspection)}
${auditOf(inspection)}`,
  }
}
