import { expect, test } from 'bun:test'
import { readEmailAddress } from '../../src/mail/address.ts'

const label = (length: number) => 'a'.repeat(length)

test('an address has one form', () => {
  for (const [text, form] of [
    ['alice@example.com', 'alice@example.com'],
    ['Alice.B+tag@EXAMPLE.com', 'alice.b+tag@example.com'],
    ['a.b.c@example.com', 'a.b.c@example.com'],
    ["o'neil_{x}!#$%&*/=?^`|~-1@mail.example", "o'neil_{x}!#$%&*/=?^`|~-1@mail.example"],
    ['a@BÜCHER.example', 'a@xn--bcher-kva.example'],
    ['a@xn--bcher-kva.example', 'a@xn--bcher-kva.example'],
    // A letter and its combining accent are one letter; capital I with a dot stays two in lower case.
    ['jose\u0301@example.com', 'jos\u00e9@example.com'],
    ['JOSE\u0301@example.com', 'jos\u00e9@example.com'],
    // The sign of the kelvin is a k: what is written to is the k as well.
    ['\u212aim@example.com', 'kim@example.com'],
    [`${label(64)}@example.com`, `${label(64)}@example.com`],
    [`a@${label(63)}.example`, `a@${label(63)}.example`],
  ] as const) {
    expect(readEmailAddress(text)).toBe(form)
    expect(readEmailAddress(form)).toBe(form)
  }
})

test('what is no address is refused', () => {
  for (const text of [
    '',
    '@',
    'alice',
    'alice@',
    '@example.com',
    'alice@@example.com',
    'alice@example.com@example.net',
    'alice@localhost',
    'alice@example..com',
    'alice@example.com.',
    'alice@.example.com',
    'alice@-example.com',
    'alice@example-.com',
    'alice@exa_mple.com',
    'alice@exa mple.com',
    'alice@192.0.2.1',
    'alice@１92.0.2.1',
    'alice@0x7f.1',
    'alice@[192.0.2.1]',
    'alice@example.com/x',
    'alice@xn--iñvalid.com',
    'al ice@example.com',
    ' alice@example.com',
    'alice@example.com ',
    'alice\u00a0b@example.com',
    'alice\n@example.com',
    'alice@example.com\r\nBcc: eve@example.com',
    'alice\u0000@example.com',
    'alice\u200b@example.com',
    'alice,eve@example.com',
    'alice;eve@example.com',
    'Alice <alice@example.com>',
    '"alice"@example.com',
    'alice(x)@example.com',
    'alice\\@example.com',
    '.alice@example.com',
    'alice.@example.com',
    'al..ice@example.com',
    '.@example.com',
    '..@example.com',
    `${label(65)}@example.com`,
    `${'é'.repeat(33)}@example.com`,
    `a@${label(64)}.example`,
    `a@${Array.from({ length: 5 }, () => label(60)).join('.')}`,
  ]) {
    expect(() => readEmailAddress(text)).toThrow('Field "email" must be an e-mail address, such as alice@example.com.')
  }
})

// RFC 5321 §4.1.2 and RFC 5322 §3.2.3: what an atom is made of, sign by sign.
test('each sign of ASCII is taken in the local part, or refused, as the standard has it', () => {
  const atext = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~"
  for (let code = 0; code < 128; code += 1) {
    const sign = String.fromCharCode(code)
    const read = () => readEmailAddress(`a${sign}b@example.com`)
    if (atext.includes(sign) || sign === '.') expect(read()).toBe(`a${sign.toLowerCase()}b@example.com`)
    else expect(read).toThrow('Field "email" must be an e-mail address')
  }
})

test('a long local part is judged in no time', () => {
  expect(() => readEmailAddress(`${'a.'.repeat(50_000)}@example.com`)).toThrow(
    'Field "email" must be an e-mail address',
  )
})
