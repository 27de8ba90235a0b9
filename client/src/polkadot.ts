import type { Signer, SignerResult } from '@polkadot/api/types'
import { addressEq } from '@polkadot/util-crypto'
import type { Client } from './client.ts'
import { type CredentialSource, credentialOf } from './credential.ts'

type RawPayload = Parameters<NonNullable<Signer['signRaw']>>[0]
type Payload = Parameters<NonNullable<Signer['signPayload']>>[0]

export type SubstrateWallet = {
  readonly client: Client
  /** As the service names it, for instance `Polkadot`. */
  readonly network: string
  readonly address: string
  readonly credential: CredentialSource
}

const OPENING = '3c42797465733e' // <Bytes>
const CLOSING = '3c2f42797465733e' // </Bytes>

/** The service puts a message between `<Bytes>` and `</Bytes>` itself. */
const unwrapped = (data: string): string =>
  data.startsWith(`0x${OPENING}`) && data.endsWith(CLOSING)
    ? `0x${data.slice(2 + OPENING.length, -CLOSING.length)}`
    : data

const hexOf = (text: string): `0x${string}` => `0x${text.replace(/^0x/, '')}`

/** The length of a mortal era: its lowest four bits are log2 of it, less 1 (sp_runtime, Era). An immortal one is `0x00`. */
const blocksOf = (era: string): number | null => {
  const bytes = era.replace(/^0x/, '')
  return bytes.length === 2 ? null : 2 ** ((Number.parseInt(bytes.slice(0, 2), 16) & 0xf) + 1)
}

/** Where the signature is in an extrinsic of version 4: after its length, the version, an address (tag and 32 bytes) and a tag. */
const signatureIn = (extrinsic: string): `0x${string}` => {
  const bytes = extrinsic.replace(/^0x/, '')
  const lengthBytes = [1, 2, 4][Number.parseInt(bytes.slice(0, 2), 16) & 3]
  if (lengthBytes === undefined) throw new Error('The extrinsic has no length of its own.')
  const start = 2 * (lengthBytes + 1 + 33)
  return `0x${bytes.slice(start, start + 2 * 65)}`
}

/**
 * A signer for @polkadot/api. `signRaw` signs bytes. For `signPayload` the service makes the extrinsic: the same call, nonce, tip and
 * length of era, but from the block that it sees, and with the hash of the metadata. So calls need the option
 * `withSignedTransaction`.
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
  const signRaw = async ({ address, data, type }: RawPayload): Promise<SignerResult> => {
    if (type !== 'bytes') throw new Error('Payloads of extrinsics are signed by signPayload only.')
    const message = unwrapped(data)
    const fields = await fieldsFor(address)
    const { signature } = await client.transactions.signMessage({ ...fields, message, message_type: 'bytes' })
    return { id: nextId(), signature: hexOf(signature) }
  }
  const signPayload = async (payload: Payload): Promise<SignerResult> => {
    if (payload.withSignedTransaction !== true)
      throw new Error('The wallet makes the extrinsic itself: sign with the option withSignedTransaction.')
    if (payload.assetId) throw new Error('The wallet pays fees in the coin only.')
    const blocks = blocksOf(payload.era)
    if (blocks === null) throw new Error('The wallet signs no immortal extrinsics.')
    const fields = await fieldsFor(payload.address)
    const signedTransaction = hexOf(
      await client.transactions.sign({
        ...fields,
        unsigned_transaction: {
          input: payload.method,
          nonce: String(BigInt(payload.nonce)),
          maxPriorityFeePerGas: String(BigInt(payload.tip)),
          era: String(blocks),
        },
      }),
    )
    return { id: nextId(), signature: signatureIn(signedTransaction), signedTransaction }
  }
  return { signRaw, signPayload }
}
