import { readHeld } from '../../db/queries/transactions.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Signatory } from '../auth/caller.ts'
import type { Chain, Intent, Unsigned } from '../chains/chain.ts'
import type { ContractWallet } from '../chains/contract-wallets.ts'
import { isOpen, openOf } from '../chains/intent.ts'
import type { Ctx } from '../context.ts'
import type { KeyHandle } from '../custody/vault.ts'
import { withKeyFor } from '../policies/delegated.ts'
import { refuseExcess, refuseLaterNonce } from '../policies/terms.ts'
import { readContractWallet, signerAddressOf } from '../wallets/contract-wallet.ts'
import { resolveSigner, walletOf } from '../wallets/signer.ts'
import { executing, withReasonWithin } from './executing.ts'
import { parseIntent } from './intent.ts'
import { nextNonce } from './nonce.ts'

export type SignInput = Signatory & {
  readonly network?: Network | undefined
  readonly signerAddress: string
  readonly unsignedTransaction: Parameters<typeof parseIntent>[1]
}

/**
 * Signs a transaction and sends nothing. For an eoa wallet with every field given it asks no node, once that is known to be of
 * the right chain. By a policy it asks for the nonce, gas and fees that are right. No nonce is reserved. For a contract
 * wallet it is a transaction of its owner's key, which deploys the wallet too where it has no code yet.
 * @returns the raw signed transaction.
 * @throws not_found, network_required, the vault's credential errors, policy_denied, contract_wallet_changed,
 * execution_reverted, node_unavailable, wrong_chain.
 */
export const signTransaction = async (ctx: Ctx, input: SignInput): Promise<string> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const intent = parseIntent(chain, input.unsignedTransaction)
  const complete = chain.complete(intent)
  const wallet = await walletOf(ctx, { ...input, signer })
  const unconfirmed = complete === null ? null : chain.confirmNode()
  if (unconfirmed !== null) await unconfirmed
  const { credentials, actor } = input
  const use = { chain, wallet, credentials, actor, intents: async () => [intent] }
  return withKeyFor(ctx, use, async (key, { charge, intents: [judged = intent] }) => {
    const making = { chain, wallet, intent: judged, key }
    const asItStands = charge === null && wallet.type === 'eoa' ? complete : null
    const unsigned = asItStands ?? (await (charge === null ? whole(ctx, making) : wholeByPolicy(ctx, making)))
    const fee = charge === null ? 0n : chain.terms.gasFee(unsigned) + (await chain.terms.surcharge(unsigned))
    const lifetime = chain.lifetimeOf(unsigned)
    const { raw, hash } = chain.assemble(unsigned, key.sign(chain.signingBytes(unsigned)))
    const entry = {
      action: 'transaction_signed',
      details: {
        network: chain.network,
        hash,
        to: intent.to ?? '',
        value: intent.value.toString(),
        nonce: String(unsigned.nonce),
        // By this `status-by-hash` knows whether a block may still take it.
        ...(lifetime === null ? {} : { valid_until_block: String(lifetime.validUntilBlock) }),
      },
    } as const
    if (charge === null) await key.commitUse(entry)
    else {
      await ctx.db.transaction(async (tx) => {
        await charge(tx, fee)
        await key.recordUse(tx, entry)
      })
    }
    return raw
  })
}

type Making = { readonly chain: Chain; readonly wallet: WalletRow; readonly intent: Intent; readonly key: KeyHandle }

/** What is signed for an intent, with what it leaves open filled in. */
const whole = async (ctx: Ctx, making: Making): Promise<Unsigned> => {
  const { chain, wallet, intent } = making
  if (wallet.type === 'contract') return executionOf(ctx, making)
  return chain.complete(intent) ?? filled(ctx, { chain, intent, from: wallet.address })
}

/**
 * The same by a policy: for the next nonce alone, as a signature outlives its policy, and with gas and fees that are not
 * far from what would be chosen here. @throws policy_denied, and what the filling in throws.
 */
const wholeByPolicy = async (ctx: Ctx, making: Making): Promise<Unsigned> => {
  const { chain, intent } = making
  const nonce = await nonceByPolicy(ctx, making)
  refuseLaterNonce(intent, nonce)
  const ordinary = await whole(ctx, { ...making, intent: { ...openOf(intent), nonce } })
  if (isOpen(intent)) return ordinary
  await refuseExcess(chain, { intent, ordinary })
  return whole(ctx, { ...making, intent: { ...intent, nonce } })
}

/**
 * The lowest that is neither used nor held by what is recorded here. What waits in a pool does not count, as a developer
 * could put one signature after the other there, with fees too low to be mined before the policy ends. Where extrinsics are
 * mortal, they end by themselves.
 */
const nonceByPolicy = async (ctx: Ctx, { chain, wallet }: Making): Promise<number> => {
  const address = signerAddressOf(chain, wallet)
  const { minedCount, pendingCount } = await chain.transactionCounts(address)
  const from = chain.isMortal ? pendingCount : minedCount
  const { nonces } = await readHeld(ctx.db, { network: chain.network, address }, from)
  return nextNonce({ pendingCount: from, held: nonces })
}

type Filling = {
  readonly chain: Chain
  readonly intent: Intent
  readonly from: string
  readonly asIfDeployed?: ContractWallet
}

const filled = async (ctx: Ctx, { chain, intent, from, asIfDeployed }: Filling): Promise<Unsigned> => {
  if (intent.nonce !== undefined) return chain.fill(intent, from, { nonce: intent.nonce, asIfDeployed })
  const { pendingCount } = await chain.transactionCounts(from)
  const { nonces } = await readHeld(ctx.db, { network: chain.network, address: from }, pendingCount)
  return chain.fill(intent, from, { nonce: nextNonce({ pendingCount, held: nonces }), asIfDeployed })
}

/** What the owner's key signs for a contract wallet. */
const executionOf = async (ctx: Ctx, input: Making): Promise<Unsigned> => {
  const { chain, wallet: row, intent, key } = input
  const contract = await readContractWallet(chain, row)
  if (contract === null) throw new Error('only a contract wallet executes')
  const { wallet, contractWallets, isDeployed } = contract
  const from = signerAddressOf(chain, row)
  const of = executing(ctx, { chain, projectId: row.projectId, contract, intents: [intent] })
  const judged = <Result>(judge: () => Promise<Result>) => withReasonWithin(ctx.db, { of, judge })
  if (isDeployed) {
    const execution = contractWallets.execution(wallet, [intent])
    return chain.complete(execution) ?? judged(() => filled(ctx, { chain, intent: execution, from }))
  }
  // What the whole would take as an execution is enough for what is within, whatever gas the caller allows the transaction.
  const { to, value, input: data } = intent
  const alone = contractWallets.execution(wallet, [{ to, value, input: data }])
  const { gasLimit } = await judged(() => chain.fill(alone, from, { nonce: 0, asIfDeployed: wallet }))
  const signable = contractWallets.deployAndExecute(wallet, { intents: [intent], gas: gasLimit })
  const whole = signable.with(key.sign(signable.bytes))
  return chain.complete(whole) ?? judged(() => filled(ctx, { chain, intent: whole, from }))
}
