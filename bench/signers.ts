import { randomBytes } from 'node:crypto'
import { addressOf } from '../src/chains/evm/address.ts'
import { assemble, payloadOf } from '../src/chains/evm/encode.ts'
import { bytesToSign } from '../src/vault/rooms/keys/payloads.ts'
import { curve } from '../src/vault/rooms/keys/secp256k1.ts'
import type { TestChain } from '../test/support/chains.ts'

const GWEI = 1_000_000_000n
export const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const TRANSFER_GAS = 21_000n

export type SignedTransfer = {
  readonly signer: `0x${string}`
  readonly nonce: number
  readonly hash: `0x${string}`
  readonly raw: `0x${string}`
}

/** Funded accounts whose keys the benchmark has itself: what they sign goes past the service. */
export const createSigners = async (chain: TestChain, input: { readonly count: number }) => {
  const signers = Array.from({ length: input.count }, () => {
    const privateKey = randomBytes(32)
    return { address: addressOf(curve.publicKeyOf(privateKey)) as `0x${string}`, privateKey, nextNonce: 0 }
  })
  for (const { address } of signers) await chain.fund(address)
  const [first] = signers
  if (first === undefined) throw new Error('expected at least one signer')

  /** Transfers of each signer in its turn. */
  const sign = (count: number): readonly SignedTransfer[] =>
    Array.from({ length: count }, (_, index) => {
      const signer = signers[index % signers.length] ?? first
      const nonce = signer.nextNonce++
      const unsigned = {
        family: 'evm' as const,
        chainId: chain.chainId,
        nonce,
        to: RECIPIENT,
        value: 1n,
        input: '0x' as const,
        gasLimit: TRANSFER_GAS,
        maxFeePerGas: 100n * GWEI,
        maxPriorityFeePerGas: GWEI,
      }
      const signature = curve.sign({ digest: bytesToSign('evm', payloadOf(unsigned)), privateKey: signer.privateKey })
      return { signer: signer.address, nonce, ...assemble(unsigned, signature) }
    })

  return { addresses: signers.map(({ address }) => address), sign }
}
