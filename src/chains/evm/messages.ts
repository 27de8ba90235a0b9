// Signatures of messages (EIP-191, version 0x45). A key signs for the address that follows from it, on every network alike,
// and no node is asked. Anything else is for a contract to judge (ERC-1271), which is asked on its own chain; one that is
// not deployed yet is deployed within the question (ERC-6492). Neither leaves anything on the chain.
//
// The key goes first: an account that lends its address to a contract's code (EIP-7702) is still its key's.

import {
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  hashMessage,
  isErc6492Signature,
  parseAbi,
  recoverAddress,
} from 'viem'
import type { Hex, MessageSigner, SignedMessage } from '../chain.ts'
import type { Signable } from '../contract-wallets.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { bytes, hexText, toQuantity } from '../node/wire.ts'
import { readQuestion } from './call.ts'
import { isExecutionFailure } from './node-errors.ts'
import { signable } from './signable.ts'

const ERC1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)'])
/** ERC-1271's answer for a valid signature: its own selector, as an ABI-encoded bytes4. */
const ERC1271_YES: Hex = `0x1626ba7e${'0'.repeat(56)}`
/** What the validator's constructor leaves in place of code. */
const ERC6492_YES: Hex = '0x01'
/** What a stranger's contract may burn: a passkey verified in Solidity takes some hundred thousand, a deployment more. */
const VALIDATION_GAS_LIMIT = 10_000_000n

/** Half of the order of secp256k1: of the two values of s only the lower one counts (EIP-2). */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const COMPACT_S_MASK = (1n << 255n) - 1n

type Parts = { readonly r: Hex; readonly s: bigint; readonly yParity: number }

/** 65 bytes r, s, v (27 and 28, or 0 and 1); or 64 bytes with the parity in the highest bit of s (EIP-2098). */
const partsOf = (signature: Hex): Parts | null => {
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

/** Whether the key of an address signed a message. Pure. */
export const isSignedByKey = async ({ address, message, signature }: SignedMessage): Promise<boolean> => {
  const parts = partsOf(signature)
  if (parts === null || parts.s > S_MAX) return false
  const { r, s, yParity } = parts
  try {
    const signer = await recoverAddress({ hash: hashMessage(message), signature: { r, s: toQuantity(s), yParity } })
    return signer === address
  } catch {
    // Not every r is of a point of the curve.
    return false
  }
}

/** By a key for its own address: the message as bytes, not as text. Pure. */
export const keyMessage = (message: Uint8Array): Signable<Hex> =>
  signable(hashMessage({ raw: message }), (signature) => signature)

/** Deploys what the signature's wrapping says, if need be, and asks it: all within one call that creates nothing. */
const undeployedQuestion = (address: Hex, hash: Hex, signature: Hex): Question<Hex> => {
  const data = encodeDeployData({
    abi: erc6492SignatureValidatorAbi,
    bytecode: erc6492SignatureValidatorByteCode,
    args: [address, hash, signature],
  })
  return question('eth_call', [{ data, gas: toQuantity(VALIDATION_GAS_LIMIT) }, 'latest'], bytes)
}

/**
 * Whether the contract at an address takes a signature for its own. Where there is none the answer is empty: the validator
 * is asked for wrapped signatures alone, as it would take others from a key, and be less strict about them.
 */
const isTakenByContract = async (rpc: Rpc, { address, message, signature }: SignedMessage): Promise<boolean> => {
  const [to, hash] = [hexText(address), hashMessage(message)]
  const isWrapped = isErc6492Signature(signature)
  const data = encodeFunctionData({ abi: ERC1271, functionName: 'isValidSignature', args: [hash, signature] })
  const answer = await rpc.try(
    isWrapped ? undeployedQuestion(to, hash, signature) : readQuestion({ to, data, gasLimit: VALIDATION_GAS_LIMIT }),
  )
  if (answer.ok) return isWrapped ? answer.value === ERC6492_YES : answer.value.startsWith(ERC1271_YES)
  if (isExecutionFailure(answer.error)) return false
  throw rpc.refusal(answer.error)
}

/** In one round trip at most. */
export const verifyMessage = async (rpc: Rpc, signed: SignedMessage): Promise<MessageSigner | null> => {
  if (await isSignedByKey(signed)) return 'key'
  return (await isTakenByContract(rpc, signed)) ? 'contract' : null
}
