import type { Reach } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import { displayAmount } from '../chains/amount.ts'
import type { AddressFacts, Chain, Intent, Movement, Preview } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { contractOf, nativeToken, type TokenDisplays, tokenDisplays, tokenOf } from '../tokens/token.ts'
import { onlyNetwork } from '../wallets/signer.ts'
import { parseIntent } from './intent.ts'
import type { AssetChange, PreviewResult } from './preview-schema.ts'

type PreviewInput = Reach & {
  readonly network?: Network | undefined
  readonly from: string
  readonly unsignedTransactions: readonly Parameters<typeof parseIntent>[1][]
}

type Facts = ReadonlyMap<string, AddressFacts>

/** A preview makes several requests, one after the other; all together may take this many times the limit of one. */
const NODE_TIMEOUTS_MAX = 3
/** Less than the minute after which the server closes an idle connection. */
const LIMIT_MS = 50_000

/** Simulates transactions in sequence and sends nothing. One that fails does not fail the others. */
export const previewTransactions = async (
  ctx: Pick<Ctx, 'config' | 'db' | 'chains'>,
  input: PreviewInput,
): Promise<readonly PreviewResult[]> => {
  const limitMs = Math.min(NODE_TIMEOUTS_MAX * ctx.config.nodeTimeoutMs, LIMIT_MS)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new AppError('node_unavailable', `The node did not answer all of a preview within ${limitMs} ms.`))
  }, limitMs)
  try {
    return await Promise.race([previewAll(ctx, input), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

const previewAll = async (ctx: Pick<Ctx, 'db' | 'chains'>, input: PreviewInput): Promise<readonly PreviewResult[]> => {
  const network = input.network ?? (await onlyNetwork(ctx, { ...input, address: input.from, field: 'from' }))
  const chain = ctx.chains.withNode(network)
  const from = chain.parseAddress(input.from, 'from')
  const [only] = input.unsignedTransactions
  const intents =
    input.unsignedTransactions.length === 1 && only !== undefined
      ? [parseIntent(chain, only)]
      : input.unsignedTransactions.map((text, index) => parseIntent(chain, text, `unsigned_transactions.${index}`))
  // The called addresses are known before the preview: read both in one round trip.
  const [previews, called] = await Promise.all([chain.preview(from, intents), chain.facts(addressesIn(intents, []))])
  const addresses = addressesIn(intents, previews)
  const [moved, displays] = await Promise.all([
    chain.facts(addresses.filter((address) => !called.has(address))),
    tokenDisplays(ctx.db, { chain, addresses }),
  ])
  const facts = new Map([...called, ...moved])
  return intents.map((intent, index) => {
    const preview = previews[index]
    if (preview === undefined) throw new Error('the chain previewed fewer transactions than it was given')
    return resultOf({ chain, from, intent, preview, facts, displays })
  })
}

const addressesIn = (intents: readonly Intent[], previews: readonly Preview[]): readonly string[] => {
  const addresses = new Set<string>()
  for (const { to } of intents) if (to !== null) addresses.add(to)
  for (const { changes, feeInAsset } of previews) {
    for (const { contract } of changes ?? []) if (contract !== null) addresses.add(contract)
    if (feeInAsset !== undefined) addresses.add(feeInAsset.contract)
  }
  return [...addresses]
}

const resultOf = (input: {
  readonly chain: Chain
  readonly from: string
  readonly intent: Intent
  readonly preview: Preview
  readonly facts: Facts
  readonly displays: TokenDisplays
}): PreviewResult => {
  const { chain, from, intent, preview, facts, displays } = input
  const { network } = chain
  const called = intent.to === null ? undefined : facts.get(intent.to)
  return {
    network,
    from,
    to: intent.to ?? '',
    contract:
      intent.to === null || called === undefined
        ? null
        : contractOf({ chain, address: intent.to, facts: called, display: displays.get(intent.to) }),
    function_name: preview.decoded?.functionName ?? null,
    arguments: preview.decoded === null ? null : { ...preview.decoded.arguments },
    simulation: {
      success: preview.success,
      asset_changes: preview.changes?.map((change) => changeOf({ chain, change, facts, displays })) ?? null,
      error: preview.error,
      ...(preview.feeInAsset === undefined
        ? {}
        : { fee: fungible({ network, facts, displays, ...preview.feeInAsset }) }),
    },
  }
}

const fungible = (input: {
  readonly network: Network
  readonly facts: Facts
  readonly displays: TokenDisplays
  readonly contract: string
  readonly amount: bigint
}) => {
  const { network, facts, displays, contract, amount } = input
  const known = facts.get(contract) ?? { isContract: true, standard: 'erc20', name: '', symbol: '', decimals: 0 }
  const token = tokenOf({ network, address: contract, facts: known, display: displays.get(contract) })
  return { amount: displayAmount(amount, token.decimals), raw_amount: amount.toString(), token }
}

const changeOf = (input: {
  readonly chain: Chain
  readonly change: Movement
  readonly facts: Facts
  readonly displays: TokenDisplays
}): AssetChange => {
  const { chain, change, facts, displays } = input
  const { network } = chain
  const { from, to, contract, tokenId } = change
  const moved = { from, to, raw_amount: change.amount.toString() }
  if (contract === null) {
    const token = nativeToken(chain)
    return { ...moved, amount: displayAmount(change.amount, token.decimals), token, nft: null }
  }
  if (tokenId !== null) {
    const nft = { owner_wallet_address: to, contract_address: contract, token_id: tokenId.toString(), metadata: null }
    return { ...moved, amount: change.amount.toString(), token: null, nft }
  }
  return { ...moved, ...fungible({ network, facts, displays, contract, amount: change.amount }), nft: null }
}
