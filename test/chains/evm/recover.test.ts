import { describe, expect, test } from 'bun:test'
import { type Hex, keccak256, recoverAddress as recoverByViem, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'
import { recoverInJavaScript, recoverNatively } from '../../../src/chains/evm/recover.ts'

/** The group's order, and the prime of its field (SEC 2, version 2.0, §2.4.1). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const PRIME = 2n ** 256n - 2n ** 32n - 977n

const bytesOf = (hex: Hex) => Buffer.from(hex.slice(2), 'hex')

const recovers = [
  ['JavaScript', recoverInJavaScript] as const,
  ...(recoverNatively === null ? [] : [['libsecp256k1', recoverNatively] as const]),
]

describe.each(recovers)('%s', (_, recover) => {
  test('recovers the address whose key signed, as viem does', async () => {
    for (let each = 0; each < 100; each += 1) {
      const privateKey = generatePrivateKey()
      const hash = keccak256(toHex(each))
      const { r, s, yParity = 0 } = await sign({ hash, privateKey })
      const { address } = privateKeyToAccount(privateKey)
      expect(await recover({ digest: bytesOf(hash), r, s, yParity })).toBe(address)
      // The same signature with the other s.
      const other = { r, s: toHex(ORDER - BigInt(s)), yParity: 1 - yParity }
      expect(await recover({ digest: bytesOf(hash), ...other })).toBe(address)
      const wrong = { r, s, yParity: 1 - yParity }
      const byViem = await recoverByViem({ hash, signature: wrong })
      expect(await recover({ digest: bytesOf(hash), ...wrong })).toBe(byViem)
      expect(byViem).not.toBe(address)
    }
  })

  test('refuses what no key can have signed', async () => {
    const digest = bytesOf(keccak256('0x01'))
    const { r, s } = await sign({ hash: keccak256('0x01'), privateKey: generatePrivateKey() })
    // 5 is the x of no point: 5³ + 7 = 132 has no square root modulo the prime.
    const isSquare = (number: bigint, power = (PRIME - 1n) / 2n) => {
      let [result, base] = [1n, number]
      for (let left = power; left > 0n; left >>= 1n, base = (base * base) % PRIME)
        if (left & 1n) result = (result * base) % PRIME
      return result === 1n
    }
    expect(isSquare(132n)).toBe(false)
    for (const bad of [
      { r: '0x0', s },
      { r, s: '0x0' },
      { r: toHex(ORDER), s },
      { r, s: toHex(ORDER) },
      { r: '0x5', s },
    ] as const) {
      const recovered = async () => recover({ digest, ...bad, yParity: 0 })
      await expect(recovered()).rejects.toThrow()
    }
  })
})

const hasPrebuilt = ['linux-x64', 'darwin-arm64', 'win32-x64'].includes(`${process.platform}-${process.arch}`)

test.skipIf(!hasPrebuilt)('libsecp256k1 runs where a prebuilt module exists', () => {
  expect(recoverNatively).not.toBeNull()
})
