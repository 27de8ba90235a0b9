// Reads a payload that a dapp made for its signer (SignerPayloadJSON of @polkadot/api). Each field must be what the
// network and its present runtime make of it. The extrinsic is encoded from these fields, so what is signed is the
// payload byte for byte. An extension without a field in the payload is left empty.
//
// The metadata must be trusted as for every extrinsic (trust.ts). The dapp chose whether the signature covers the hash
// of the metadata: mode 1 must cover the hash of the metadata that is used here, and mode 0 needs the operator's pin.

import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, SignerPayload, SignerPayloads, SubstrateUnsigned, Unsigned } from '../chain.ts'
import { NodeUnavailable } from '../node/wire.ts'
import { accountAddress } from './address.ts'
import { type FinalState, hashQuestion } from './blocks.ts'
import { treeOf } from './codec.ts'
import { chosenEra } from './eras.ts'
import { eraBytes } from './extrinsic.ts'
import { readNaming } from './fee-assets.ts'
import type { SubstrateNode } from './node.ts'
import { buildUnsigned, requireForm } from './prepare.ts'
import { feeQuestion, harmlessCall, unlessUndecodable } from './query-fee.ts'
import { fromHex, littleEndian, toHex, U32_END, U128_END } from './scale.ts'
import { extensionNamesOf, findFeeAssetType } from './signed-extensions.ts'
import { valueAs } from './values.ts'

const IMMORTAL: Hex = '0x00'
const ERA_BYTES = 2

type Read = FinalState & { readonly payload: SignerPayload; readonly from: string }

const refused = (field: keyof SignerPayload, rest: string): AppError =>
  new AppError('invalid_input', `Field "payload.${field}" ${rest}`)

const requireFixed = (row: SubstrateNetworkRow, { payload, runtime, from }: Read): void => {
  const { network, genesisHash } = row
  const { specName, specVersion, transactionVersion, metadata } = runtime
  if (accountAddress(payload.address) !== accountAddress(from)) {
    throw refused('address', `must be the account of ${from}, which signs.`)
  }
  if (payload.genesisHash !== genesisHash) throw refused('genesisHash', `must be ${genesisHash} on ${network}.`)
  if (payload.specVersion !== BigInt(specVersion)) {
    throw refused('specVersion', `must be ${specVersion}, the version of the runtime ${specName} at present.`)
  }
  if (payload.transactionVersion !== BigInt(transactionVersion)) {
    throw refused(
      'transactionVersion',
      `must be ${transactionVersion}, that of the runtime ${specName} ${specVersion}.`,
    )
  }
  const names = extensionNamesOf(metadata)
  if (!isDeepStrictEqual(names, payload.signedExtensions)) {
    throw refused('signedExtensions', `must be those of the runtime in their order: ${names.join(', ')}.`)
  }
  if (payload.nonce >= U32_END) throw refused('nonce', 'must be below 2^32.')
  if (payload.tip >= U128_END) throw refused('tip', 'must be below 2^128.')
}

type Lifetime = Pick<SubstrateUnsigned, 'era' | 'validUntilBlock'>

/** The era in its bytes. Only the node can say whether its first block is the one that the payload names. */
const parseLifetime = ({ payload, runtime }: Read, { genesisHash }: SubstrateNetworkRow): Lifetime => {
  const { era: encoded, blockHash, blockNumber } = payload
  if (encoded === IMMORTAL) {
    if (blockHash === genesisHash) return { era: null, validUntilBlock: null }
    throw refused('blockHash', `must be ${genesisHash}, the genesis block, for an immortal extrinsic.`)
  }
  const bytes = fromHex(encoded)
  if (bytes.length !== ERA_BYTES) throw refused('era', 'must be 0x00, or a mortal era of 2 bytes.')
  // The lowest four bits are log2 of the period, less 1.
  const period = chosenEra(runtime, { period: 2 << Number(littleEndian(bytes) & 15n), field: 'payload.era' })
  if (blockNumber >= U32_END) throw refused('blockNumber', 'must be below 2^32.')
  const era = { current: Number(blockNumber), period }
  if (toHex(eraBytes(era)) !== encoded) {
    throw refused('era', `must begin at the block ${blockNumber}, which "payload.blockNumber" names.`)
  }
  return { era, validUntilBlock: blockNumber + BigInt(period) - 1n }
}

/** The asset of the fee in SCALE, without the Option in which the payload has it. */
const readFeeAsset = (row: SubstrateNetworkRow, { payload, runtime }: Read): Hex | null => {
  const { assetId } = payload
  if (assetId === null || assetId === '0x00') return null
  if (findFeeAssetType(runtime.registry, runtime.metadata) === null) {
    throw refused('assetId', `must be null on ${row.network}: its runtime takes fees only in the coin.`)
  }
  const { kind, type } = readNaming(runtime, row)
  const asset: Hex = `0x${assetId.slice(4)}`
  const isSome = assetId.startsWith('0x01') && kind !== 'other'
  if (isSome && valueAs(runtime, type, asset) !== null) return asset
  throw refused('assetId', 'must be an Option of an asset in SCALE, as the runtime reads it.')
}

/**
 * @param birth the hash of the block with the number of the payload's.
 * @throws unless the mortal era begins at this block of the chain, and has not ended.
 */
const requireBirth = (
  row: SubstrateNetworkRow,
  { head, payload, lifetime }: Read & { readonly lifetime: Lifetime },
  birth: Hex | null,
): void => {
  const { validUntilBlock } = lifetime
  if (validUntilBlock === null) return
  const { blockHash, blockNumber } = payload
  if (birth === null) {
    const sentence = `The ${row.network} node does not know the block ${blockNumber} of the payload yet.`
    throw new NodeUnavailable('refused', sentence)
  }
  if (birth !== blockHash) throw refused('blockHash', `must be that of the block ${blockNumber}.`)
  if (validUntilBlock > head.number) return
  throw refused('era', `must end after the block ${head.number}, the newest final one: it ended at ${validUntilBlock}.`)
}

/** The hash of the metadata that the payload covers; null in mode 0. @throws metadata_untrusted */
const requireMetadataHash = async (
  node: SubstrateNode,
  { head, runtime, payload, from }: Read,
): Promise<Hex | null> => {
  const { mode, metadataHash } = payload
  if (mode === 0 && metadataHash !== null) throw refused('metadataHash', 'must be null if "payload.mode" is 0.')
  if (mode === 0 && node.trust.isPinned(runtime)) return null
  // An extrinsic made here asks whether the runtime has the hash: the dapp's could falsify the answer.
  const intent = { to: null, value: 0n, input: harmlessCall(runtime) } as const
  const draft = buildUnsigned(node, { head, runtime, intent, from, nonce: 0, eraBlocks: node.row.era.least })
  const expected = await node.trust.metadataHash({ runtime, draft, blockHash: head.hash })
  if (mode === 0) {
    const sentence = `Field "payload.mode" must be 1, with the hash of the metadata in "payload.metadataHash", as the metadata of runtime ${runtime.specName} ${runtime.specVersion} is not pinned.`
    throw new AppError('metadata_untrusted', sentence)
  }
  if (expected === null) throw refused('mode', 'must be 0: the runtime cannot check the hash of its metadata.')
  if (metadataHash !== expected) {
    throw refused('metadataHash', `must be ${expected}, the hash of the metadata of runtime ${runtime.specVersion}.`)
  }
  return expected
}

const read = async (node: SubstrateNode, reading: Read): Promise<SubstrateUnsigned> => {
  const { head, runtime, payload, from } = reading
  const { row } = node
  requireForm(runtime, row)
  requireFixed(row, reading)
  const lifetime = parseLifetime(reading, row)
  const { method: call, blockHash } = payload
  if (treeOf(runtime, call) === null) throw refused('method', "must be a SCALE-encoded call of the network's runtime.")
  const intent = { to: null, value: 0n, input: call, maxPriorityFeePerGas: payload.tip } as const
  const nonce = Number(payload.nonce)
  const unsigned: SubstrateUnsigned = {
    ...buildUnsigned(node, { head, runtime, intent, from, nonce, eraBlocks: row.era.least }),
    feeAsset: readFeeAsset(row, reading),
    metadataHash: await requireMetadataHash(node, reading),
    ...lifetime,
    blockHash,
  }
  // The fee itself is of no interest: asking for it checks that the runtime can read the call.
  const draft = { ...unsigned, blockHash: head.hash }
  const ask = () =>
    node.rpc.askAll([lifetime.era === null ? null : hashQuestion(payload.blockNumber), feeQuestion(draft, head.hash)])
  const [birth] = await unlessUndecodable(node, { runtime, drafts: () => [draft], field: 'payload.method' }, ask)
  requireBirth(row, { ...reading, lifetime }, birth)
  return unsigned
}

export const createSignerPayloads = (input: {
  readonly node: SubstrateNode
  readonly requireSubstrate: (unsigned: Unsigned) => SubstrateUnsigned
  readonly recentState: () => Promise<FinalState>
}): SignerPayloads => ({
  read: async ({ payload, from }) => {
    const state = await input.recentState()
    const unsigned = await read(input.node, { ...state, payload, from })
    const { call, nonce, tip } = unsigned
    const chosen = tip === 0n ? {} : { maxPriorityFeePerGas: tip }
    const madeBy = state.runtime.bytesHash
    return { unsigned, intent: { to: null, value: 0n, input: call, nonce, ...chosen, madeBy } }
  },
  signature: (unsigned, signature) =>
    toHex(Buffer.concat([fromHex(input.requireSubstrate(unsigned).form.signaturePrefix), signature])),
})
