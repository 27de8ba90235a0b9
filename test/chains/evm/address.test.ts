import { expect, test } from 'bun:test'
import { privateKeyToAccount } from 'viem/accounts'
import { addressOf, checksum, createdAddress, parseAddress } from '../../../src/chains/evm/address.ts'
import { AppError } from '../../../src/platform/errors.ts'

/** EIP-55, "Test Cases". */
const EIP_55 = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]

const codeOf = (text: string): string => {
  try {
    parseAddress(text, 'to')
    return 'accepted'
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

test('gives the checksums of EIP-55', () => {
  for (const address of EIP_55) expect(checksum(address.toLowerCase())).toBe(address)
})

test('accepts a valid checksum, all lower or all upper case, and returns the checksummed text', () => {
  for (const address of EIP_55) {
    expect(parseAddress(address, 'to')).toBe(address)
    expect(parseAddress(address.toLowerCase(), 'to')).toBe(address)
    expect(parseAddress(`0x${address.slice(2).toUpperCase()}`, 'to')).toBe(address)
  }
})

test('refuses a mixed-case address with one letter in the wrong case', () => {
  for (const address of EIP_55) {
    if (address === address.toLowerCase() || address.slice(2) === address.slice(2).toUpperCase()) continue
    const at = [...address].findIndex((letter, index) => index > 1 && /[a-fA-F]/.test(letter))
    const letter = address.charAt(at)
    const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
    expect(codeOf(`${address.slice(0, at)}${flipped}${address.slice(at + 1)}`)).toBe('address_invalid')
  }
})

test('refuses a text that is no address', () => {
  const good = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const wrong = [
    '',
    '0x',
    good.slice(2),
    good.slice(0, -1),
    `${good}0`,
    ` ${good}`,
    `${good}\n`,
    `0X${good.slice(2)}`,
    good.replace('5', 'g'),
    'vitalik.eth',
    `0x${'0'.repeat(64)}`,
    '０x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  ]
  for (const text of wrong) expect([text, codeOf(text)]).toEqual([text, 'address_invalid'])
})

test('refuses an address of a Substrate network with its own message', () => {
  // Alice of the Substrate documentation: generic, Polkadot and Vara prefixes.
  for (const text of [
    '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY',
    '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5',
    'kGkLEU3e3XXkJp2WK4eNpVmSab5xUNL9QtmLPh8QfCL2EgotW',
  ]) {
    expect(codeOf(text)).toBe('network_mismatch')
  }
})

test('an error names the field but does not repeat the value', () => {
  for (const text of ['not-an-address', '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY']) {
    try {
      parseAddress(text, 'recipient')
      expect.unreachable()
    } catch (error) {
      expect(String(error)).toContain('recipient')
      expect(String(error)).not.toContain(text)
    }
  }
})

test('derives the address of a public key as viem does', () => {
  for (const byte of ['01', '7f', 'c4']) {
    const account = privateKeyToAccount(`0x${byte.repeat(32)}`)
    expect(addressOf(Buffer.from(account.publicKey.slice(2), 'hex'))).toBe(account.address)
  }
})

test('refuses a public key that is compressed or truncated', () => {
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  const key = Buffer.from(account.publicKey.slice(2), 'hex')
  expect(() => addressOf(key.subarray(0, 33))).toThrow()
  expect(() => addressOf(key.subarray(1))).toThrow()
  expect(() => addressOf(Buffer.concat([Buffer.from([2]), key.subarray(1)]))).toThrow()
})

test('computes the address of a created contract', () => {
  // go-ethereum, crypto/crypto_test.go, TestNewContractAddress.
  const sender = '0x970E8128AB834E8EAC17Ab8E3812F010678CF791'
  expect(createdAddress(sender, 0)).toBe(checksum('0x333c3310824b7c685133f2bedb2ca4b8b4df633d'))
  expect(createdAddress(sender, 1)).toBe(checksum('0x8bda78331c916a08481428e4b07c96d3e916d165'))
  expect(createdAddress(sender, 2)).toBe(checksum('0xc9ddedf451bc62ce88bf9292afb13df35b670699'))
})
