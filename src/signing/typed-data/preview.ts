import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, Intent } from '../../chains/chain.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import type { SigningCtx } from '../ctx.ts'
import { previewSignaturePolicy } from '../policies/preview.ts'
import { nativeToken, type TokenDisplays, tokenDisplays, tokenOf } from '../token.ts'
import { previewTransactions } from '../transactions/preview.ts'
import { resolveSigner } from '../wallets/signer.ts'
import { type Meaning, type Move, readMeaning } from './meaning.ts'
import type { Change, TypedDataPreview } from './preview-schema.ts'
import { listValues, parseTypedData } from './read.ts'
import type { TypedDataField } from './schema.ts'
import { describeAmount, type Known, listWarnings, summarize } from './words.ts'

/** No more than a bundle may have. */
const CALLS_MAX = 50

type PreviewInput = Reach & {
  readonly network?: Network | undefined
  readonly address: string
  readonly typedData: TypedDataField
}

const listAddresses = ({ contract, spender, moves }: Meaning): readonly string[] => [
  ...new Set([contract, spender, ...moves.map((move) => move.contract)].filter((address) => address !== null)),
]

const describeMove = (
  known: Known & { readonly chain: Chain; readonly displays: TokenDisplays },
  move: Move,
): Change => {
  const { chain, facts, displays } = known
  const { effect, standard, contract, tokenId, amount, isUnlimited, from, to } = move
  const moved = {
    effect,
    from,
    to,
    raw_amount: amount.toString(),
    amount: isUnlimited ? 'unlimited' : describeAmount(known, move),
  }
  if (standard === 'coin' || contract === null) return { ...moved, token: nativeToken(chain), nft: null }
  if (standard === 'nft') {
    const token_id = tokenId === null ? '' : tokenId.toString()
    return {
      ...moved,
      token: null,
      nft: { owner_wallet_address: to, contract_address: contract, token_id, metadata: null },
    }
  }
  const { network } = chain
  return {
    ...moved,
    token: tokenOf({ network, address: contract, facts: facts.get(contract), display: displays.get(contract) }),
    nft: null,
  }
}

type Calling = PreviewInput & {
  readonly chain: Chain
  readonly meaning: Meaning
  readonly calls: readonly Intent[] | null
}

/** Simulates the calls of a Safe's transaction, with the Safe as their sender. */
const callChanges = async (ctx: SigningCtx, input: Calling): Promise<readonly Change[]> => {
  const { chain, meaning, calls } = input
  if (calls === null || calls.length === 0) return []
  const previews = await previewTransactions(ctx, {
    ...input,
    network: chain.network,
    from: meaning.contract ?? '',
    unsignedTransactions: calls.slice(0, CALLS_MAX).map(({ to, value, input: data }) => ({
      ...(to === null ? {} : { to }),
      value: value.toString(),
      input: data,
    })),
  })
  return previews.map((call) => ({ effect: 'calls' as const, call }))
}

const readCalls = (chain: Chain, { operation }: Meaning): readonly Intent[] | null =>
  operation === null ? null : (chain.contractWallets?.callsOf(operation) ?? null)

const describeChanges = async (
  ctx: SigningCtx,
  input: Calling & { readonly known: Parameters<typeof describeMove>[0]; readonly typedData: TypedData },
): Promise<readonly Change[]> => {
  const { meaning, known, typedData } = input
  const isUnread = meaning.kind === 'unknown' || (meaning.kind === 'safe_transaction' && input.calls === null)
  if (isUnread) return listValues(typedData)
  return [...meaning.moves.map((move) => describeMove(known, move)), ...(await callChanges(ctx, input))]
}

/** Says what typed data does, and what is dangerous about it. Nothing is signed. It is checked as for a signature. */
export const previewTypedData = async (ctx: SigningCtx, input: PreviewInput): Promise<TypedDataPreview> => {
  const { chain, address: signer } = await resolveSigner(ctx, input)
  const { typedData } = parseTypedData(chain, input.typedData)
  const meaning = readMeaning(chain, { typedData, signer })
  const addresses = listAddresses(meaning)
  const [facts, displays, policy] = await Promise.all([
    chain.sureFacts(addresses),
    tokenDisplays(ctx, { chain, addresses }),
    previewSignaturePolicy(ctx, { ...input, chain, from: signer, typedData }),
  ])
  const known = { chain, facts, displays, listed: new Set(displays.keys()), signer, now: ctx.now() }
  const calls = readCalls(chain, meaning)
  const { primaryType, domain } = typedData
  const read = { meaning, primaryType, hasChainId: domain.chainId !== undefined, calls }
  return {
    kind: meaning.kind,
    summary: summarize(known, read),
    primary_type: primaryType,
    domain: input.typedData.domain,
    changes: [...(await describeChanges(ctx, { ...input, chain, meaning, calls, known, typedData }))],
    warnings: [...listWarnings(known, read)],
    ...(policy === null ? {} : { policy }),
  }
}
