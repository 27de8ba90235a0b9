// Signatures of messages (EIP-191, version 0x45). The signature of a key is valid for the key's address on every
// network, and is verified without a node. Any other signature is verified by the contract at the address (ERC-1271),
// on its own chain. A contract that is not deployed yet is deployed within the simulated call (ERC-6492). The chain
// stays as it is.
//
// The key is tried first: an account that delegates to a contract's code (EIP-7702) still belongs to its key.

import { encodeDeployData, encodeFunctionData, hashMessage, isErc6492Signature, parseAbi } from 'viem/utils'
import type { Payload, TypedData } from '../../vault/language/payload.ts'
import type { Hex, MessageSigner, SignedMessage } from '../chain.ts'
import type { Signable } from '../contract-wallets.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { bytes, hexText, toQuantity } from '../node/wire.ts'
import { readQuestion, returned } from './call.ts'
import { recoverAddress } from './recover.ts'

// What to sign, with the signature in the form that contracts accept: r ‖ s ‖ v.

/** v is 27 or 28 (Yellow Paper, appendix F). @param signature 65 bytes: r, s, recovery id @throws Error otherwise. */
const withV = (signature: Uint8Array): Hex => {
  const recoveryId = signature[64]
  if (signature.length !== 65 || (recoveryId !== 0 && recoveryId !== 1)) {
    throw new Error('expected a signature of 65 bytes ending in a recovery id of 0 or 1')
  }
  return hexText(`0x${Buffer.from(signature.subarray(0, 64)).toString('hex')}${(27 + recoveryId).toString(16)}`)
}

/** `finish` turns r ‖ s ‖ v into the result. Pure. */
export const signable = <Result>(payload: Payload, finish: (signature: Hex) => Result): Signable<Result> => ({
  payload,
  with: (signature) => finish(withV(signature)),
})

const ERC1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)'])
/** ERC-1271's result for a valid signature: the function's selector, as an ABI-encoded bytes4. */
const ERC1271_YES: Hex = `0x1626ba7e${'0'.repeat(56)}`
/** The validator's constructor returns this in place of code. */
const ERC6492_YES: Hex = '0x01'
/** The gas that an unknown contract may use. A passkey verified in Solidity needs some 100,000, a deployment more. */
const VALIDATION_GAS_LIMIT = 10_000_000n

/** Half of the order of secp256k1: of the two valid values of s only the lower one is accepted (EIP-2). */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const COMPACT_S_MASK = (1n << 255n) - 1n

type Parts = { readonly r: Hex; readonly s: bigint; readonly yParity: number }

/** 65 bytes r, s, v (27 and 28, or 0 and 1); or 64 bytes with the parity in the highest bit of s (EIP-2098). */
const parseSignature = (signature: Hex): Parts | null => {
  const r: Hex = `0x${signature.slice(2, 66)}`
  if (signature.length === 130) {
    const packed = BigInt(`0x${signature.slice(66)}`)
    return { r, s: packed & COMPACT_S_MASK, yParity: Number(packed >> 255n) }
  }
  if (signature.length !== 132) return null
  const v = Number.parseInt(signature.slice(130), 16)
  const yParity = v >= 27 ? v - 27 : v
  return yParity > 1 ? null : { r, s: BigInt(`0x${signature.slice(66, 130)}`), yParity }
}

export const isSignedByKey = async ({ address, message, signature }: SignedMessage): Promise<boolean> => {
  const parts = parseSignature(signature)
  if (parts === null || parts.s > S_MAX) return false
  const { r, s, yParity } = parts
  try {
    const digest = Buffer.from(hashMessage(message).slice(2), 'hex')
    return (await recoverAddress({ digest, r, s: toQuantity(s), yParity })) === address
  } catch {
    // Not every r belongs to a point on the curve.
    return false
  }
}

/** A message as bytes, to be signed by a key for its own address. Pure. */
export const keyMessage = (message: Uint8Array): Signable<Hex> =>
  signable({ kind: 'evm_message', message }, (signature) => signature)

/** Typed data, to be signed by a key for its own address. Pure. */
export const keyTypedData = (typedData: TypedData): Signable<Hex> =>
  signable({ kind: 'typed_data', typedData }, (signature) => signature)

/** In one simulated call: deploys the contract that the wrapped signature describes, if it is missing, and asks it. */
const undeployedQuestion = async (address: Hex, hash: Hex, signature: Hex): Promise<Question<Hex>> => {
  // The whole library has these, and takes long to load.
  const { erc6492SignatureValidatorAbi: abi, erc6492SignatureValidatorByteCode: bytecode } = await import('viem')
  const data = encodeDeployData({
    abi,
    bytecode,
    args: [address, hash, signature],
  })
  return question('eth_call', [{ data, gas: toQuantity(VALIDATION_GAS_LIMIT) }, 'latest'], bytes)
}

/**
 * Whether the contract at an address accepts a signature; without a contract the result is empty. The validator is used
 * for wrapped signatures only, because it also accepts signatures of keys, and checks them less strictly.
 */
const isAcceptedByContract = async (rpc: Rpc, { address, message, signature }: SignedMessage): Promise<boolean> => {
  const [to, hash] = [hexText(address), hashMessage(message)]
  const isWrapped = isErc6492Signature(signature)
  const data = encodeFunctionData({ abi: ERC1271, functionName: 'isValidSignature', args: [hash, signature] })
  const answer = await rpc.try(
    isWrapped
      ? await undeployedQuestion(to, hash, signature)
      : readQuestion({ to, data, gasLimit: VALIDATION_GAS_LIMIT }),
  )
  const result = returned(rpc, answer)
  return isWrapped ? result === ERC6492_YES : result?.startsWith(ERC1271_YES) === true
}

export const verifyMessage = async (rpc: Rpc, signed: SignedMessage): Promise<MessageSigner | null> => {
  if (await isSignedByKey(signed)) return 'key'
  return (await isAcceptedByContract(rpc, signed)) ? 'contract' : null
}
