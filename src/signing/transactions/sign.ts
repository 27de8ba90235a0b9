import { readHeldNonces } from '../../../db/queries/transactions.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, Intent, TransactionCounts, Unsigned } from '../../chains/chain.ts'
import type { ContractWallet } from '../../chains/contract-wallets.ts'
import { isOpen, openOf } from '../../chains/intent.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { onlySignature } from '../../vault/contract/contract.ts'
import type { SigningCtx } from '../ctx.ts'
import { isDelegated, type Signing, withKeyFor } from '../policies/delegated.ts'
import { type FieldOf, refuseExcess, refuseLaterNonce } from '../policies/intent-bounds.ts'
import { readContractWallet, signerAddressOf } from '../wallets/contract-wallet.ts'
import { resolveSigner, walletOf } from '../wallets/signer.ts'
import { executionOf, withInnerReason } from './execution.ts'
import { parseIntent, refuseForm } from './intent.ts'
import { nextNonceOf } from './next-nonce.ts'
import { nextNonce } from './nonce.ts'
import { wordsOf } from './sign-ladder.ts'

export type SignInput = Signatory & {
  readonly network?: Network | undefined
  readonly signerAddress: string
  readonly unsignedTransaction: Parameters<typeof parseIntent>[1]
}

const OF_A_CONTRACT = 'the key of a wallet of type "contract" signs transactions of type 2 without an access list'

/**
 * Signs a transaction, sends nothing and reserves no nonce. For an eoa wallet with every field given it asks no node, except
 * once for the chain's id. With a policy it asks a node in order to check nonce, gas and fees. For a contract wallet it signs
 * a transaction of the owner's key, which also deploys the wallet if that has no code.
 * @returns the raw signed transaction.
 */
export const signTransaction = async (ctx: SigningCtx, input: SignInput): Promise<string> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const intent = parseIntent(chain, input.unsignedTransaction)
  const complete = chain.complete(intent)
  const wallet = await walletOf(ctx, { ...input, signer })
  if (wallet.type === 'contract') refuseForm(intent, { field: 'unsigned_transaction', why: OF_A_CONTRACT })
  const unconfirmed = complete === null ? null : chain.confirmNode()
  if (unconfirmed !== null) await unconfirmed
  const { credentials, actor, approvalId } = input
  const known = wallet.type === 'eoa' ? complete : null
  const of = { chain, wallet, credentials, actor, approvalId }
  // Prepare while the policies are read, if neither the key nor the judged intent is needed for that.
  const isAskedAhead = wallet.type === 'eoa' && !chain.isMortal && isDelegated(of)
  const ahead = isAskedAhead ? unsignedByPolicy(ctx, { chain, wallet, intent, key: null }) : null
  ahead?.catch(() => {})
  const signs = known === null && ahead === null ? 'later' : 'at once'
  const use = { ...of, action: 'sign', signs, intents: async () => [intent] } as const
  return withKeyFor(ctx, use, async (key, [judged = intent]) => {
    const { byPolicy } = key
    const signing = { chain, wallet, intent: judged, key }
    const given = byPolicy ? ahead : known
    const unsigned = (await given) ?? (await (byPolicy ? unsignedByPolicy(ctx, signing) : unsignedOf(ctx, signing)))
    const fee = byPolicy ? chain.feeRules.gasFee(unsigned) + (await chain.feeRules.surcharge(unsigned)) : 0n
    const lifetime = chain.lifetimeOf(unsigned)
    const details = {
      ...wordsOf(unsigned),
      // From this `status-by-hash` knows whether a block may still take it.
      ...(lifetime === null ? {} : { valid_until_block: String(lifetime.validUntilBlock) }),
    }
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

/** The transaction to sign, with missing fields filled in. */
const unsignedOf = async (ctx: SigningCtx, signing: SigningInput): Promise<Unsigned> => {
  const { chain, wallet, intent } = signing
  if (wallet.type === 'contract') return executionUnsigned(ctx, signing)
  return chain.complete(intent) ?? fillIn(ctx, { chain, intent, from: wallet.address })
}

/**
 * The transaction to sign with a policy: only for the next nonce, because a signature outlives its policy, and with gas and
 * fees close to what we would choose.
 */
export const unsignedByPolicy = async (ctx: SigningCtx, signing: SigningInput): Promise<Unsigned> => {
  const { chain, wallet, intent, fieldOf } = signing
  const open = openOf(intent)
  const choose = nonceByPolicy(ctx, signing)
  const ordinary =
    wallet.type === 'eoa'
      ? await chain.fill(open, wallet.address, { nonce: choose })
      : await unsignedOf(ctx, { ...signing, intent: { ...open, nonce: await choose(await countsOf(signing)) } })
  if (isOpen(intent)) return ordinary
  await refuseExcess(chain, { intent, ordinary, fieldOf })
  return unsignedOf(ctx, { ...signing, intent: { ...intent, nonce: ordinary.nonce } })
}

const countsOf = ({ chain, wallet }: SigningInput): Promise<TransactionCounts> =>
  chain.transactionCounts(signerAddressOf(chain, wallet))

/**
 * Chooses the lowest nonce that is neither used nor held by our records. Transactions in the pool do not count: otherwise a
 * developer could fill the pool with signatures whose fees are too low to be mined before the policy ends. They count where
 * extrinsics are mortal, as those end by themselves. @throws policy_denied if the intent has another nonce.
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
  const next = nextNonceOf(ctx, { network: chain.network, address: from })
  return chain.fill(intent, from, { nonce: intent.nonce ?? next, asIfDeployed })
}

/** The transaction that the owner's key signs for a contract wallet. */
const executionUnsigned = async (ctx: SigningCtx, input: SigningInput): Promise<Unsigned> => {
  const { chain, wallet: row, intent, key } = input
  const contract = await readContractWallet(chain, row)
  if (contract === null || key === null) throw new Error('only a contract wallet executes, with its key')
  const { wallet, contractWallets, isDeployed } = contract
  const from = signerAddressOf(chain, row)
  // It takes no nonce, so it waits for nobody.
  const turn = async () => {}
  const of = executionOf(ctx, { chain, kind: 'send', projectId: row.projectId, contract, intents: [intent], turn })
  const explained = <Result>(simulate: () => Promise<Result>) => withInnerReason(ctx.db, { of, simulate })
  if (isDeployed) {
    const execution = contractWallets.execution(wallet, [intent])
    return chain.complete(execution) ?? explained(() => fillIn(ctx, { chain, intent: execution, from }))
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
