import { readHeldNonces } from '../../../db/queries/transactions.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain, Intent, TransactionCounts, Unsigned } from '../../chains/chain.ts'
import type { ContractWallet } from '../../chains/contract-wallets.ts'
import { isOpen, openOf, sumOfValues } from '../../chains/intent.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { onlySignature } from '../../vault/contract/contract.ts'
import type { SigningCtx } from '../ctx.ts'
import { isDelegated, type Signing, withKeyFor } from '../policies/delegated.ts'
import { type FieldOf, refuseExcess, refuseLaterNonce } from '../policies/intent-bounds.ts'
import { invalidInput, UINT256_END } from '../schema.ts'
import {
  findSignerWallet,
  readContractWallet,
  resolveSigner,
  type SignerInput,
  signerAddressOf,
} from '../wallets/signer.ts'
import { makeExecution, withInnerReason } from './execution.ts'
import { parseIntent, refuseForm } from './intent.ts'
import { nextNonce, nextNonceChooser } from './nonce.ts'
import type { Submitted } from './plan.ts'
import { batchUnsupported } from './sending.ts'
import { describeSigned } from './sign-ladder.ts'
import { submitIntent } from './submit.ts'

type SignInput = SignerInput & {
  readonly unsignedTransaction: Parameters<typeof parseIntent>[1]
}

const OF_A_CONTRACT = 'the key of a wallet of type "contract" signs transactions of type 2 without an access list'

/**
 * Sends nothing and reserves no nonce. For an eoa wallet with every field given it asks no node, except once for the
 * chain's id; with a policy it asks for nonce, gas and fees. For a contract wallet the owner's key signs, which also
 * deploys a wallet without code. @returns the raw signed transaction.
 */
export const signTransaction = async (ctx: SigningCtx, input: SignInput): Promise<string> => {
  const signer = await resolveSigner(ctx, input)
  const { chain } = signer
  const intent = parseIntent(chain, input.unsignedTransaction)
  const complete = chain.complete(intent)
  const wallet = await findSignerWallet(ctx, { ...input, signer })
  if (wallet.type === 'contract') refuseForm(intent, { field: 'unsigned_transaction', why: OF_A_CONTRACT })
  const unconfirmed = complete === null ? null : chain.confirmNode()
  if (unconfirmed !== null) await unconfirmed
  const { credentials, actor, approvalId } = input
  const known = wallet.type === 'eoa' ? complete : null
  const request = { chain, wallet, credentials, actor, approvalId }
  // Prepare while the policies are read, if neither the key nor the judged intent is needed for that.
  const isAskedAhead = wallet.type === 'eoa' && !chain.isMortal && isDelegated(request)
  const ahead = isAskedAhead ? unsignedByPolicy(ctx, { chain, wallet, intent, key: null }) : null
  ahead?.catch(() => {})
  const signs = known === null && ahead === null ? 'later' : 'at once'
  const use = { ...request, action: 'sign', signs, intents: async () => [intent] } as const
  return withKeyFor(ctx, use, async (key, [judged = intent]) => {
    const { byPolicy } = key
    const signing = { chain, wallet, intent: judged, key }
    const given = byPolicy ? ahead : known
    const unsigned = (await given) ?? (await (byPolicy ? unsignedByPolicy(ctx, signing) : makeUnsigned(ctx, signing)))
    const fee = byPolicy ? chain.feeRules.gasFee(unsigned) + (await chain.feeRules.surcharge(unsigned)) : 0n
    const details = describeSigned(chain, unsigned)
    const payloads = [chain.payloadOf(unsigned)]
    const signature = onlySignature(await key.sign(fee, { action: 'transaction_signed', details, payloads }))
    return chain.assemble(unsigned, signature).raw
  })
}

type SigningInput = {
  readonly chain: Chain
  readonly wallet: WalletRow
  readonly intent: Intent
  /** null before the key is open. Only a contract wallet needs it here. */
  readonly key: Signing | null
  readonly fieldOf?: FieldOf
}

const makeUnsigned = async (ctx: SigningCtx, signing: SigningInput): Promise<Unsigned> => {
  const { chain, wallet, intent } = signing
  if (wallet.type === 'contract') return executionUnsigned(ctx, signing)
  return chain.complete(intent) ?? fillIn(ctx, { chain, intent, from: wallet.address })
}

/** Only for the next nonce, because a signature outlives its policy, and close to the usual gas and fees. */
export const unsignedByPolicy = async (ctx: SigningCtx, signing: SigningInput): Promise<Unsigned> => {
  const { chain, wallet, intent, fieldOf } = signing
  const open = openOf(intent)
  const choose = nonceByPolicy(ctx, signing)
  const ordinary =
    wallet.type === 'eoa'
      ? await chain.fill(open, wallet.address, { nonce: choose })
      : await makeUnsigned(ctx, { ...signing, intent: { ...open, nonce: await choose(await readCounts(signing)) } })
  if (isOpen(intent)) return ordinary
  await refuseExcess(chain, { intent, ordinary, fieldOf })
  return makeUnsigned(ctx, { ...signing, intent: { ...intent, nonce: ordinary.nonce } })
}

const readCounts = ({ chain, wallet }: SigningInput): Promise<TransactionCounts> =>
  chain.transactionCounts(signerAddressOf(chain, wallet))

/**
 * The lowest nonce that is neither used nor held by our records. The pool does not count: a developer could fill it
 * with signatures whose fees are too low to be mined before the policy ends. It counts where extrinsics are mortal, as
 * those end by themselves. @throws policy_denied if the intent has another nonce.
 */
const nonceByPolicy = (ctx: SigningCtx, { chain, wallet, intent }: SigningInput) => {
  const signer = { network: chain.network, address: signerAddressOf(chain, wallet) }
  const heldFrom = (fromNonce: number) => readHeldNonces(ctx.db, signer, { fromNonce })
  // If the caller's nonce is right, our records are read while the node answers.
  const ahead = intent.nonce === undefined ? null : heldFrom(intent.nonce)
  ahead?.catch(() => {})
  return async ({ minedCount, pendingCount }: TransactionCounts): Promise<number> => {
    const from = chain.isMortal ? pendingCount : minedCount
    const held = await (from === intent.nonce && ahead !== null ? ahead : heldFrom(from))
    const nonce = nextNonce({ pendingCount: from, held })
    refuseLaterNonce(intent, nonce)
    return nonce
  }
}

type FillInInput = {
  readonly chain: Chain
  readonly intent: Intent
  readonly from: string
  readonly asIfDeployed?: ContractWallet
}

const fillIn = (ctx: SigningCtx, { chain, intent, from, asIfDeployed }: FillInInput): Promise<Unsigned> => {
  const next = nextNonceChooser(ctx, { network: chain.network, address: from })
  return chain.fill(intent, from, { nonce: intent.nonce ?? next, asIfDeployed })
}

const executionUnsigned = async (ctx: SigningCtx, input: SigningInput): Promise<Unsigned> => {
  const { chain, wallet: row, intent, key } = input
  const contract = await readContractWallet(chain, row)
  if (contract === null || key === null) throw new Error('only a contract wallet executes, with its key')
  const { wallet, contractWallets, isDeployed } = contract
  const from = signerAddressOf(chain, row)
  // It takes no nonce, so it waits for no other transaction.
  const turn = async () => {}
  const execution = makeExecution(ctx, {
    chain,
    kind: 'send',
    projectId: row.projectId,
    contract,
    intents: [intent],
    turn,
  })
  const explained = <Result>(simulate: () => Promise<Result>) => withInnerReason(ctx.db, { execution, simulate })
  if (isDeployed) {
    const plain = contractWallets.execution(wallet, [intent])
    return chain.complete(plain) ?? explained(() => fillIn(ctx, { chain, intent: plain, from }))
  }
  // The gas of a plain execution is enough for the calls within, whatever gas limit the caller set for the transaction.
  const { to, value, input: data } = intent
  const alone = contractWallets.execution(wallet, [{ to, value, input: data }])
  const { gasLimit } = await explained(() => chain.fill(alone, from, { nonce: 0, asIfDeployed: wallet }))
  const signable = contractWallets.deployAndExecute(wallet, { intents: [intent], gas: gasLimit })
  const details = { message_type: 'safe_transaction' }
  const { payload } = signable
  const inner = await key.sign(0n, { action: 'message_signed', details, payloads: [payload] })
  const whole = signable.with(onlySignature(inner))
  return chain.complete(whole) ?? explained(() => fillIn(ctx, { chain, intent: whole, from }))
}

const SENT_AS = 'what is sent is of type 2 without an access list, and its fees are raised while it waits'

/** Signs and records a transaction; the worker sends it. */
export const signAndSend = async (
  ctx: SigningCtx,
  input: SignInput & { readonly remember?: Remember<Submitted> },
): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, input)
  const { chain } = signer
  const intent = parseIntent(chain, input.unsignedTransaction)
  refuseForm(intent, { field: 'unsigned_transaction', why: SENT_AS })
  const wallet = await findSignerWallet(ctx, { ...input, signer })
  return submitIntent(ctx, { ...input, chain, wallet, kind: 'send', intents: async () => [intent] })
}

type BatchInput = Omit<SignInput, 'unsignedTransaction'> & {
  readonly unsignedTransactions: readonly SignInput['unsignedTransaction'][]
  readonly remember?: Remember<Submitted>
}

/** A batch is one transaction: its elements cannot have their own fees, gas and nonce. */
const NOT_IN_A_BATCH = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas', 'nonce'] as const satisfies (keyof Intent)[]

const requireElement = (intent: Intent, field: string): Intent => {
  refuseForm(intent, { field, why: 'a batch is one transaction, which is sent as type 2' })
  const set = NOT_IN_A_BATCH.find((name) => intent[name] !== undefined)
  if (set !== undefined) {
    throw invalidInput(`Field "${field}.${set}" must be absent: a batch is one transaction.`)
  }
  if (intent.to !== null) return intent
  throw invalidInput(`Field "${field}.to" is required: a batch creates no contracts.`)
}

/** Signs and records one transaction in which a contract wallet makes several calls: in order, all or none. */
export const batchSignAndSend = async (ctx: SigningCtx, input: BatchInput): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, input)
  const { chain } = signer
  const intents = input.unsignedTransactions.map((text, index) => {
    const field = `unsigned_transactions.${index}`
    return requireElement(parseIntent(chain, text, field), field)
  })
  if (sumOfValues(intents) >= UINT256_END) {
    throw invalidInput('The values of "unsigned_transactions" together must be below 2^256.')
  }
  const wallet = await findSignerWallet(ctx, { ...input, signer })
  if (wallet.type !== 'contract') throw batchUnsupported()
  return submitIntent(ctx, { ...input, chain, wallet, kind: 'batch', intents: async () => intents })
}
