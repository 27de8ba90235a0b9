import { Command, InvalidArgumentError } from 'commander'
import type { HasDb } from '../../../db/client.ts'
import { listTransactions, type TransactionOverview } from '../../../db/queries/overview.ts'
import { type Network, TRANSACTION_STATUSES, type TransactionStatus } from '../../../db/words.ts'
import type { NodelessChain } from '../../chains/chain.ts'
import type { Chains } from '../../chains/chains.ts'
import { displayGwei } from '../../platform/amount.ts'
import { UUID } from '../../platform/http/text.ts'
import { coinAmount } from '../../signing/token.ts'
import {
  type InspectedAttempt,
  type Inspection,
  inspectTransaction,
  type NodeView,
  offersInBytes,
} from '../../signing/transactions/inspect.ts'
import { type Fate, findLost, repairLost } from '../../signing/transactions/repair.ts'
import { cancelTransaction, retryTransaction } from '../../signing/transactions/waiting.ts'
import { listOf, NETWORK_WORDS, networkIn, OPERATOR, rowAsJson, table, uuid, wholeNumber } from './arguments.ts'
import type { Shell } from './shell.ts'

const HASH = /^0x[0-9a-f]{64}$/i

const idOrHash = (argument: string): { readonly id: string } | { readonly hash: string } => {
  if (HASH.test(argument)) return { hash: argument.toLowerCase() }
  if (UUID.test(argument)) return { id: argument.toLowerCase() }
  throw new InvalidArgumentError('It must be a UUID or a hash of 32 bytes.')
}

const addressOn = ({ known }: Chains, text: string): string => {
  for (const chain of known) {
    try {
      // Contracts and programs cannot sign.
      if (!chain.isContractId(text)) return chain.parseAddress(text, 'signer')
    } catch {}
  }
  throw new Error('It must be an address with a valid checksum, or a 0x address without mixed case.')
}

const attemptOf = ({ cancelling, attempt, rungs }: Pick<TransactionOverview, 'cancelling' | 'attempt' | 'rungs'>) =>
  cancelling ? 'cancel' : `${attempt} of ${rungs}`

type ListOptions = {
  network?: Network
  status: readonly TransactionStatus[]
  late?: boolean
  project?: string
  signer?: string
  limit: number
  json?: boolean
}

const list = (shell: Shell): Command =>
  new Command('list')
    .description('List transactions and why each is not done: by default the live ones, oldest first.')
    .option('--network <network>', NETWORK_WORDS, networkIn(shell.variables))
    .option(
      '--status <list>',
      `${TRANSACTION_STATUSES.join(', ')}; if one of them is a final status, the newest come first`,
      listOf(TRANSACTION_STATUSES),
      ['submitted', 'pending'],
    )
    .option('--late', 'only those that are live for more than a minute')
    .option('--project <id>', 'only those of this project', uuid)
    .option('--signer <address>', 'only those from this signer or contract wallet')
    .option('--limit <rows>', 'at most this many', wholeNumber({ from: 1, to: 100_000 }), 100)
    .option('--json', 'print a JSON array with all columns of the view strongroom_views.transactions')
    .action(({ signer, ...options }: ListOptions) => {
      // Only an address needs the networks.
      if (signer === undefined) return shell.withReadingCtx((ctx) => printList(shell, ctx, options))
      return shell.withAskingCtx((ctx) =>
        printList(shell, ctx, { ...options, signerAddress: addressOn(ctx.chains, signer) }),
      )
    })

type Listed = Omit<ListOptions, 'signer'> & { readonly signerAddress?: string }

const printList = async ({ print, printJson }: Shell, { db }: HasDb, input: Listed): Promise<void> => {
  const { json, status: statuses, project: projectId, ...filter } = input
  const rows = await listTransactions(db, { ...filter, statuses, ...(projectId === undefined ? {} : { projectId }) })
  if (json) return printJson(rows.map(rowAsJson))
  if (rows.length === 0) return print('No such transaction.')
  const head = ['ID', 'NETWORK', 'SIGNER', 'NONCE', 'KIND', 'STATUS', 'AGE', 'ATTEMPT', 'WHY']
  const lines = rows.map((row) => [
    row.id,
    row.network,
    row.signerAddress,
    String(row.nonce),
    row.kind,
    row.status,
    row.age,
    attemptOf(row),
    row.why ?? row.error ?? '',
  ])
  print(table([head, ...lines]))
}

const FATES: Record<Fate['kind'], string> = {
  gone: 'on no chain: will be marked failed (reorganised), and its nonce freed',
  moved: 'in another block: will be followed there',
  in_pool: 'in the pool of the node: nothing to do yet, ask again when it is in a block or gone',
  above_head: "above the node's newest block, which may lag behind: nothing to do yet",
}

const repair = ({ variables, print, withAskingIdentityCtx }: Shell): Command =>
  new Command('repair')
    .description(
      'Find final transactions that a deep reorganisation has removed from the chain. Only shows them, unless --yes is given.',
    )
    .requiredOption('--network <network>', NETWORK_WORDS, networkIn(variables))
    .option(
      '--yes',
      'repair them: mark those on no chain as failed, free their nonces, and follow those in another block',
    )
    .action(({ network, yes }: { network: Network; yes?: boolean }) =>
      withAskingIdentityCtx(async (ctx) => {
        const chain = ctx.chains.withNode(network)
        const found = await findLost(ctx, chain)
        if (found.length === 0) return print(`All final transactions of ${network} are on the chain.`)
        const lines = found.map(({ row, fate }) => [
          row.id,
          row.signerAddress,
          String(row.nonce),
          row.errorCode ?? row.status,
          String(row.blockNumber),
          FATES[fate.kind],
        ])
        print(table([['ID', 'SIGNER', 'NONCE', 'WAS', 'IN BLOCK', 'IS'], ...lines]))
        if (yes !== true) return print('Nothing was changed. Confirm with --yes.')
        const done = await repairLost(ctx, { chain, actor: OPERATOR })
        print(`Repaired: ${done.length} of ${found.length}.`)
      }),
    )

const time = (at: Date | null): string => at?.toISOString() ?? '-'

const offered = (chain: NodelessChain, offer: InspectedAttempt['offer']): string => {
  if (offer === null) return '-'
  const { maxFeePerGas, maxPriorityFeePerGas, worstCost, isBound } = offer
  const fees = [
    ...(maxFeePerGas === null ? [] : [displayGwei(maxFeePerGas)]),
    ...(maxPriorityFeePerGas === null ? [] : [`tip ${displayGwei(maxPriorityFeePerGas)}`]),
  ]
  const most = coinAmount(chain, worstCost)
  return [...fees, isBound ? `at most ${most}` : `${most} as far as is known`].join(', ')
}

const attemptLine = (chain: NodelessChain, attempt: InspectedAttempt): readonly string[] => {
  const marks = [attempt.chosen ? 'chosen' : '', attempt.mined ? 'mined' : '', attempt.refusal ?? '']
  const accepted = `accepted ${time(attempt.acceptedAt)}`
  return [
    `  ${attempt.attempt}`,
    attempt.kind,
    attempt.hash,
    offered(chain, attempt.offer),
    accepted,
    marks.filter((mark) => mark !== '').join(', '),
  ]
}

const nodeLines = (chain: NodelessChain, node: NodeView): readonly string[] => {
  if (node.kind === 'unavailable') return [node.sentence]
  const { minedCount, pendingCount, balance, nextBaseFeePerGas } = node.accountState
  return [
    `${minedCount} of the signer's transactions are mined, ${pendingCount} with the pool; it has ${coinAmount(chain, balance)}`,
    ...(nextBaseFeePerGas === null
      ? []
      : [
          `the next base fee is ${displayGwei(nextBaseFeePerGas)}${node.feeBelowBaseFee === true ? ': above what the chosen attempt offers' : ''}`,
        ]),
    ...(node.lacks === null || node.lacks === 0n
      ? []
      : [`the signer lacks ${coinAmount(chain, node.lacks)} for the chosen attempt`]),
  ]
}

const CALLS: Record<NodelessChain['withoutRecipient'], string> = {
  creation: 'a contract creation',
  runtime_call: 'a call of the runtime',
}

const facts = (
  chain: NodelessChain,
  { transaction: row, jobs, node }: Inspection,
): readonly (readonly [string, string])[] => {
  const block = row.minedBlockNumber === null ? '-' : `${row.minedBlockNumber}, ${row.minedBlockHash}`
  const call = CALLS[chain.withoutRecipient]
  const created = row.contractAddress === null ? '' : `: ${row.contractAddress}`
  return [
    ['id', row.id],
    ['project', row.projectId],
    ['wallet', row.walletId],
    ['signer', `${row.signerAddress} on ${row.network}, nonce ${row.nonce}`],
    ...(row.contractWallet === null ? [] : [['for', `the contract wallet ${row.contractWallet}`] as const]),
    ['kind', row.kind],
    ['to', row.to ?? `${call}${created}`],
    ['value', coinAmount(chain, row.value)],
    ...(row.feeAsset === null
      ? []
      : [['fee', `paid in ${row.feeAsset}, of which it takes at most ${row.feeAssetCost} base units`] as const]),
    ['status', `${row.status}${row.final ? ', final' : ''}${row.late ? ', late' : ''}`],
    ['why', row.why ?? (row.errorCode === null ? '-' : `${row.errorCode}: ${row.error}`)],
    ['attempt', attemptOf(row)],
    ['climbs', time(row.climbsAt)],
    ['given up', time(row.givesUpAt)],
    ['hash', row.shownHash ?? '-'],
    ['block', block],
    ['recorded', time(row.createdAt)],
    ['broadcast', time(row.broadcastAt)],
    ['settled', time(row.settledAt)],
    ...jobs.map((job): readonly [string, string] => {
      const tries = `${job.attempts} of ${job.maxAttempts} attempts${job.lastError === null ? '' : `: ${job.lastError}`}`
      return ['job', `${job.id}, ${job.state}, due ${time(job.runAt)}, ${tries}`]
    }),
    ...(node === null ? [] : nodeLines(chain, node)).map((line): readonly [string, string] => ['node now', line]),
  ]
}

const shownInspection = (chain: NodelessChain, inspection: Inspection): string => {
  const { attempts, acts } = inspection
  return [
    table(facts(chain, inspection).map(([name, value]) => [`${name}:`, value])),
    'attempts:',
    table(attempts.map((attempt) => attemptLine(chain, attempt))),
    'audit:',
    table(acts.map((act) => [`  ${act.id}`, time(act.at), act.action, `by ${act.actor}`])),
  ].join('\n')
}

const shownNode = (node: NodeView | null): unknown => {
  if (node === null) return null
  if (node.kind === 'unavailable') return { error: node.sentence }
  const { accountState, ...meaning } = node
  const { kind: _, ...shown } = rowAsJson(meaning)
  return { ...rowAsJson(accountState), ...shown }
}

const show = ({ print, printJson, withAskingCtx }: Shell): Command =>
  new Command('show')
    .description("Show all about one transaction, with the node's current view of its signer.")
    .argument('<id|hash>', 'its id here, or the hash of any of its attempts', idOrHash)
    .option('--json', 'print { transaction, attempts, signer, jobs, audit, node }')
    .action((key: { readonly id: string } | { readonly hash: string }, { json }: { json?: boolean }) =>
      withAskingCtx(async (ctx) => {
        const inspection = await inspectTransaction(ctx, key, { readOffers: offersInBytes })
        if (!json) return print(shownInspection(ctx.chains.of(inspection.transaction.network), inspection))
        const { transaction, attempts, signer, jobs, acts, node } = inspection
        printJson({
          transaction: rowAsJson(transaction),
          attempts: attempts.map(({ offer, ...attempt }) => ({
            ...rowAsJson(attempt),
            offer: offer === null ? null : rowAsJson(offer),
          })),
          signer: signer === null ? null : rowAsJson(signer),
          jobs: jobs.map(rowAsJson),
          audit: acts.map(rowAsJson),
          node: shownNode(node),
        })
      }),
    )

const retry = ({ print, withAskingIdentityCtx }: Shell): Command =>
  new Command('retry')
    .description('Send the chosen attempt again now. Sending is idempotent.')
    .argument('<id>', 'the transaction', uuid)
    .action((id: string) =>
      withAskingIdentityCtx(async (ctx) => {
        await retryTransaction(ctx, { id, actor: OPERATOR, reach: null })
        print('A job sends it now, if a worker runs. `tx show` shows the outcome.')
      }),
    )

const cancel = ({ print, withAskingIdentityCtx }: Shell): Command =>
  new Command('cancel')
    .description(
      'Give up a transaction now: from now on only its cancelling transaction is sent, which uses the nonce.',
    )
    .argument('<id>', 'the transaction', uuid)
    .action((id: string) =>
      withAskingIdentityCtx(async (ctx) => {
        const { isNew } = await cancelTransaction(ctx, { id, actor: OPERATOR, reach: null })
        print(
          isNew
            ? 'Given up: from now on only its cancelling transaction is sent, which uses the nonce.'
            : 'It was already given up.',
        )
        print(
          'An attempt that a node already has may still be mined, and then counts. Otherwise it ends as failed (expired) once the cancelling transaction is final.',
        )
      }),
    )

export const transactionCommands = (shell: Shell): Command =>
  new Command('tx')
    .description('Transactions: which are not done, why, and what you can do about it.')
    .addCommand(list(shell))
    .addCommand(show(shell))
    .addCommand(retry(shell))
    .addCommand(cancel(shell))
    .addCommand(repair(shell))
