// Reads how much of an ERC-20 token a call takes, or allows a spender to take: of five functions only, and only in the
// strict form (full words, no further bytes, no dirty upper bits). The effect of any other call cannot be known from
// outside.

type Word = 'address' | 'amount' | 'uint8' | 'any'

const FUNCTIONS: Readonly<Record<string, readonly Word[]>> = {
  // transfer(address,uint256)
  a9059cbb: ['address', 'amount'],
  // transferFrom(address,address,uint256)
  '23b872dd': ['address', 'address', 'amount'],
  // approve(address,uint256)
  '095ea7b3': ['address', 'amount'],
  // increaseAllowance(address,uint256)
  '39509351': ['address', 'amount'],
  // permit(address,address,uint256,uint256,uint8,bytes32,bytes32) of EIP-2612
  d505accf: ['address', 'address', 'amount', 'any', 'uint8', 'any', 'any'],
}

const SELECTOR_BYTES = 4
const WORD_BYTES = 32
const BYTES: Readonly<Record<Word, number>> = { address: 20, amount: 32, uint8: 1, any: 32 }

/** Amounts by contract, in base units of the token. */
export type Tokens = ReadonlyMap<string, bigint>

const fits = (kind: Word, word: Uint8Array): boolean =>
  word.subarray(0, WORD_BYTES - BYTES[kind]).every((byte) => byte === 0)

/** The amount of a call of a token; null if it cannot be read. Pure. */
const amountIn = (data: Uint8Array): bigint | null => {
  const kinds = FUNCTIONS[Buffer.from(data.subarray(0, SELECTOR_BYTES)).toString('hex')]
  if (kinds === undefined || data.length !== SELECTOR_BYTES + kinds.length * WORD_BYTES) return null
  const wordAt = (at: number) => {
    const start = SELECTOR_BYTES + at * WORD_BYTES
    return data.subarray(start, start + WORD_BYTES)
  }
  if (!kinds.every((kind, at) => fits(kind, wordAt(at)))) return null
  return BigInt(`0x${Buffer.from(wordAt(kinds.indexOf('amount'))).toString('hex')}`)
}

/** null if a call of one of the contracts cannot be counted. Pure. @param contracts 40 digits of lower-case hex each */
export const tokensTaken = (
  contracts: readonly string[],
  calls: readonly { readonly to: string; readonly data: Uint8Array }[],
): Tokens | null => {
  const taken = new Map<string, bigint>()
  for (const { to, data } of calls) {
    if (!contracts.includes(to)) continue
    const amount = amountIn(data)
    if (amount === null) return null
    taken.set(to, (taken.get(to) ?? 0n) + amount)
  }
  return taken
}
