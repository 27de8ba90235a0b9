import { displayGwei } from '../../../platform/amount.ts'
import { AppError } from '../../../platform/errors.ts'
import { UUID } from '../../../platform/http/text.ts'
import { type Html, html, type Value } from '../../../platform/pages/page.ts'
import { coinAmount } from '../../../signing/token.ts'
import { type Inspection, inspectTransaction } from '../../../signing/transactions/inspect.ts'
import type { ConsoleCtx } from '../context.ts'
import type { Asked, Shown } from '../frame.ts'
import { code, facts, linkTo, table, time, word } from '../table.ts'
import { amountOf } from './transactions.ts'

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
    ...(row.waitsFor === null
      ? []
      : [['Waits for', html`<a href="/transactions/${row.waitsFor}">${code(row.waitsFor)}</a>`] as const]),
    ['Network', row.network],
    ['Signer', html`${code(row.signerAddress)}, nonce ${row.nonce}`],
    ...(row.contractWallet === null ? [] : [['For the contract wallet', code(row.contractWallet)] as const]),
    ['Kind', row.kind],
    ['To', row.to === null ? 'no address: a creation, or a call of the runtime' : code(row.to)],
    ['Value', amountOf(ctx, row)],
    ['Project', html`<a href="${linkTo('/transactions', { project: row.projectId })}">${code(row.projectId)}</a>`],
    [
      'Wallet',
      html`<a href="${linkTo('/wallets', { project: row.projectId, q: row.walletId })}">${code(row.walletId)}</a>`,
    ],
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
      { head: 'No.', cell: ({ attempt }) => attempt, is: 'number' },
      { head: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
      { head: 'Hash', cell: ({ hash }) => code(hash), is: 'long' },
      {
        head: 'Fee cap',
        cell: ({ maxFeePerGas }) => (maxFeePerGas === null ? '–' : displayGwei(maxFeePerGas)),
        is: 'number',
      },
      { head: 'Accepted', cell: ({ acceptedAt }) => time(acceptedAt) },
      {
        head: 'State',
        cell: ({ chosen, mined }) => html`${chosen ? html`${word('chosen')} ` : null}${mined ? word('mined') : null}`,
      },
      { head: 'Refusal', cell: ({ refusal }) => refusal, is: 'long' },
    ],
    rows: attempts,
    none: 'It has no attempts.',
  })

const jobsOf = ({ jobs }: Inspection): Html =>
  table({
    caption: 'Jobs',
    columns: [
      { head: 'Job', cell: ({ id }) => String(id) },
      { head: 'State', cell: ({ state }) => word(state) },
      { head: 'Due', cell: ({ runAt }) => time(runAt) },
      { head: 'Attempts', cell: ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}`, is: 'number' },
      { head: 'Error', cell: ({ lastError }) => lastError, is: 'long' },
    ],
    rows: jobs,
    none: 'No job is about it.',
  })

const auditOf = ({ acts }: Inspection): Html =>
  table({
    caption: 'Audit',
    columns: [
      { head: 'Row', cell: ({ id }) => String(id), is: 'number' },
      { head: 'At', cell: ({ at }) => time(at) },
      { head: 'Action', cell: ({ action }) => action.replaceAll('_', ' ') },
      { head: 'By', cell: ({ actor }) => code(actor), is: 'long' },
    ],
    rows: acts,
    none: 'The audit has nothing about it.',
  })

const actionsOf = ({ session }: Asked, { transaction }: Inspection): Html => {
  const { id, final, minedBlockHash, cancelling } = transaction
  if (final || minedBlockHash !== null || session.operator.role !== 'operator') return html``
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
