import { expect, test } from 'bun:test'
import { readEmailAddress } from '../../src/identity/mail/address.ts'

const label = (length: number) => 'a'.repeat(length)

test('an address has one normalised form', () => {
  for (const [text, form] of [
    ['alice@example.com', 'alice@example.com'],
    ['Alice.B+tag@EXAMPLE.com', 'alice.b+tag@example.com'],
    ['a.b.c@example.com', 'a.b.c@example.com'],
    ["o'neil_{x}!#$%&*/=?^`|~-1@mail.example", "o'neil_{x}!#$%&*/=?^`|~-1@mail.example"],
    ['a@BÜCHER.example', 'a@xn--bcher-kva.example'],
    ['a@xn--bcher-kva.example', 'a@xn--bcher-kva.example'],
    // UTS 46 maps these full stops to the dot.
    ['a@example\u3002com', 'a@example.com'],
    ['a@mail\uff0eexample\uff61com', 'a@mail.example.com'],
    ['a@ＥＸＡＭＰＬＥ。ｃｏｍ', 'a@example.com'],
    // A letter with a combining accent becomes one character; a capital I with a dot stays two in lower case.
    ['jose\u0301@example.com', 'jos\u00e9@example.com'],
    ['JOSE\u0301@example.com', 'jos\u00e9@example.com'],
    // The kelvin sign becomes k, both in what we store and in what we write to.
    ['\u212aim@example.com', 'kim@example.com'],
    [`${label(64)}@example.com`, `${label(64)}@example.com`],
    [`a@${label(63)}.example`, `a@${label(63)}.example`],
  ] as const) {
    expect(readEmailAddress(text)).toBe(form)
    expect(readEmailAddress(form)).toBe(form)
  }
})

test('an invalid address is refused', () => {
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
    'alice@example。。com',
    'alice@example.com。',
    'alice。b@',
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

// RFC 5321 §4.1.2 and RFC 5322 §3.2.3: each character of an atom.
test('each ASCII character is accepted or refused in the local part as the standard says', () => {
  const atext = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~"
  for (let code = 0; code < 128; code += 1) {
    const sign = String.fromCharCode(code)
    const read = () => readEmailAddress(`a${sign}b@example.com`)
    if (atext.includes(sign) || sign === '.') expect(read()).toBe(`a${sign.toLowerCase()}b@example.com`)
    else expect(read).toThrow('Field "email" must be an e-mail address')
  }
})

test('a long local part is checked quickly', () => {
  expect(() => readEmailAddress(`${'a.'.repeat(50_000)}@example.com`)).toThrow(
    'Field "email" must be an e-mail address',
  )
})
