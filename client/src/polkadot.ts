import type { Signer, SignerResult } from '@polkadot/api/types'
import { addressEq } from '@polkadot/util-crypto'
import type { Client } from './client.ts'
import { type CredentialSource, credentialOf } from './credential.ts'
import { type Code, StrongroomError } from './errors.ts'
import { messageHex } from './provider-parameters.ts'

type RawPayload = Parameters<NonNullable<Signer['signRaw']>>[0]
type Payload = Parameters<NonNullable<Signer['signPayload']>>[0]

export type SubstrateWallet = {
  readonly client: Client
  /** As the service names it, for instance `Polkadot`. */
  readonly network: string
  readonly address: string
  readonly credential: CredentialSource
}

const isUncovered = (error: unknown): boolean => {
  const codes: readonly Code[] = ['metadata_untrusted']
  return error instanceof StrongroomError && codes.includes(error.code)
}

const hexOf = (text: string): `0x${string}` => `0x${text.replace(/^0x/, '')}`

/**
 * The length of a mortal era: its lowest four bits are log2 of it, less 1 (sp_runtime, Era). An immortal one is `0x00`.
 */
const blocksOf = (era: string): number | null => {
  const bytes = era.replace(/^0x/, '')
  return bytes.length === 2 ? null : 2 ** ((Number.parseInt(bytes.slice(0, 2), 16) & 0xf) + 1)
}

/** The call with the same nonce, tip and length of era, for an extrinsic that the service makes. */
const unsignedOf = ({ assetId, era, method, nonce, tip }: Payload) => {
  const blocks = blocksOf(era)
  if (assetId || blocks === null)
    throw new Error('Without pinned metadata the wallet signs no immortal extrinsics, and pays fees in the coin only.')
  return {
    input: method,
    nonce: String(BigInt(nonce)),
    maxPriorityFeePerGas: String(BigInt(tip)),
    era: String(blocks),
  }
}

/**
 * Where the signature is in an extrinsic of version 4: after its length, the version, an address (tag and 32 bytes) and
 * a tag.
 */
const signatureIn = (extrinsic: string): `0x${string}` => {
  const bytes = extrinsic.replace(/^0x/, '')
  const lengthBytes = [1, 2, 4][Number.parseInt(bytes.slice(0, 2), 16) & 3]
  if (lengthBytes === undefined) throw new Error('The extrinsic has no length of its own.')
  const start = 2 * (lengthBytes + 1 + 33)
  return `0x${bytes.slice(start, start + 2 * 65)}`
}

/**
 * A signer for @polkadot/api. `signRaw` signs a text or bytes in hex, and `signPayload` the payload that the dapp made,
 * byte for byte. If the service refuses a payload because its signature would not cover the metadata, and the call has
 * the option `withSignedTransaction`, the service makes an extrinsic of the same call itself.
 */
export const toSigner = ({ client, network, address: own, credential }: SubstrateWallet): Signer => {
  /** Dapps write an address with any prefix. */
  const fieldsFor = async (address: string) => {
    if (!addressEq(address, own)) throw new Error(`The account ${address} is not this wallet.`)
    return { network, signer_wallet_address: own, ...(await credentialOf(credential)) }
  }
  let last = 0
  const nextId = () => {
    last += 1
    return last
  }
  // As in other wallets the type says nothing: the service signs `<Bytes>…</Bytes>` in any case, which is never an
  // extrinsic.
  const signRaw = async ({ address, data }: Omit<RawPayload, 'type'>): Promise<SignerResult> => {
    const message = messageHex(data)
    const fields = await fieldsFor(address)
    const { signature } = await client.transactions.signMessage({ ...fields, message, message_type: 'bytes' })
    return { id: nextId(), signature: hexOf(signature) }
  }
  const signPayload = async (payload: Payload): Promise<SignerResult> => {
    const fields = await fieldsFor(payload.address)
    try {
      const { signature } = await client.transactions.signPayload({ ...fields, payload })
      return { id: nextId(), signature: hexOf(signature) }
    } catch (error) {
      if (!isUncovered(error) || payload.withSignedTransaction !== true) throw error
    }
    const unsigned_transaction = unsignedOf(payload)
    const signedTransaction = hexOf(await client.transactions.sign({ ...fields, unsigned_transaction }))
    return { id: nextId(), signature: signatureIn(signedTransaction), signedTransaction }
  }
  return { signRaw, signPayload }
}
