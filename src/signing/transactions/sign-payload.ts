import type { Chain, Hex, ReadPayload, SignerPayload, Unsigned } from '../../chains/chain.ts'
import { provided } from '../../chains/provided.ts'
import { AppError } from '../../platform/errors.ts'
import { onlySignature } from '../../vault/contract/contract.ts'
import type { SigningCtx } from '../ctx.ts'
import { withKeyFor } from '../policies/delegated.ts'
import { denied } from '../policies/intent-bounds.ts'
import { NONCE_END, parseQuantity, UINT256_END } from '../schema.ts'
import { findSignerWallet, resolveSigner, type SignerInput } from '../wallets/signer.ts'
import { parseHex } from './intent.ts'
import type { SignerPayloadField } from './payload-schema.ts'
import { unsignedByPolicy } from './sign.ts'
import { describeSigned } from './sign-ladder.ts'

type SignPayloadInput = SignerInput & { readonly payload: SignerPayloadField }

const parsePayload = (text: SignerPayloadField): SignerPayload => {
  const hex = (name: 'method' | 'era' | 'blockHash' | 'genesisHash') => parseHex(text[name], `payload.${name}`)
  const hexOrNull = (name: 'assetId' | 'metadataHash') =>
    text[name] === undefined || text[name] === null ? null : parseHex(text[name], `payload.${name}`)
  const count = (name: 'nonce' | 'specVersion' | 'transactionVersion' | 'blockNumber') =>
    parseQuantity(text[name], `payload.${name}`, NONCE_END)
  return {
    address: text.address,
    method: hex('method'),
    era: hex('era'),
    blockHash: hex('blockHash'),
    blockNumber: count('blockNumber'),
    genesisHash: hex('genesisHash'),
    nonce: count('nonce'),
    tip: parseQuantity(text.tip, 'payload.tip', UINT256_END),
    assetId: hexOrNull('assetId'),
    specVersion: count('specVersion'),
    transactionVersion: count('transactionVersion'),
    signedExtensions: text.signedExtensions,
    mode: text.mode === 1 ? 1 : 0,
    metadataHash: hexOrNull('metadataHash'),
  }
}

/** How many times the era that we would choose is allowed with a policy: dapps round theirs up. */
const ERA_TIMES_MAX = 2n

/** For how many blocks it is valid; null if for ever. */
const countBlocks = (chain: Chain, unsigned: Unsigned): bigint | null => {
  const lifetime = chain.lifetimeOf(unsigned)
  return lifetime === null ? null : lifetime.validUntilBlock - lifetime.bornAtBlock + 1n
}

type Judging = Pick<Parameters<typeof unsignedByPolicy>[1], 'chain' | 'wallet' | 'intent'> &
  Pick<ReadPayload, 'unsigned'> & { readonly payload: SignerPayload; readonly madeBy: Hex | undefined }

/** Holds a payload to what `sign` would make of the call by a policy. @returns the highest fee to charge. */
const feeByPolicy = async (ctx: SigningCtx, { payload, unsigned, madeBy, ...signing }: Judging): Promise<bigint> => {
  const { chain, intent } = signing
  if (intent.madeBy !== madeBy) {
    throw new AppError('node_unavailable', 'The runtime was upgraded during the preparation. Send the request again.')
  }
  if (payload.assetId !== null)
    throw denied('Under a policy, field "payload.assetId" must be null: fee budgets are in the native coin.')
  const rebuilt = await unsignedByPolicy(ctx, { ...signing, key: null, fieldOf: () => 'payload.tip' })
  const [blocks, usual] = [countBlocks(chain, unsigned), countBlocks(chain, rebuilt)]
  if (usual === null) throw new Error('what is made for a policy is mortal')
  const most = ERA_TIMES_MAX * usual
  if (blocks === null || blocks > most) {
    throw denied(
      `Under a policy, field "payload.era" must be of at most ${most} blocks: a longer one would outlive the policy.`,
    )
  }
  return chain.feeRules.surcharge(rebuilt)
}

/**
 * Signs what a dapp shows a signer of @polkadot/api, byte for byte, and reserves no nonce. With a policy the call is
 * judged as `sign` judges it. @returns the signature behind the byte of its type.
 */
export const signPayload = async (ctx: SigningCtx, input: SignPayloadInput): Promise<Hex> => {
  const signer = await resolveSigner(ctx, input)
  const { chain, address: from } = signer
  const wallet = await findSignerWallet(ctx, { ...input, signer })
  const payloads = provided(chain.signerPayloads, `Payloads of @polkadot/api are not for ${chain.network}.`)
  const payload = parsePayload(input.payload)
  const { unsigned, intent } = await payloads.read({ payload, from })
  const { credentials, actor, approvalId } = input
  const request = { chain, wallet, credentials, actor, approvalId }
  const use = { ...request, action: 'sign', signs: 'at once', intents: async () => [intent] } as const
  return withKeyFor(ctx, use, async (key, [judged = intent]) => {
    const { madeBy } = intent
    const judging = { chain, wallet, intent: judged, unsigned, payload, madeBy }
    const fee = key.byPolicy ? await feeByPolicy(ctx, judging) : 0n
    const details = describeSigned(chain, unsigned)
    const use = { action: 'transaction_signed', details, payloads: [chain.payloadOf(unsigned)] } as const
    return payloads.signature(unsigned, onlySignature(await key.sign(fee, use)))
  })
}
