// Which return addresses are allowed after login, with a full list of those that are refused.

import { describe, expect, test } from 'bun:test'
import { isReturnAddress, readReturnAddress } from '../../src/identity/auth/return-addresses.ts'
import { readConfig } from '../../src/platform/config.ts'
import { AppError } from '../../src/platform/errors.ts'

type Environment = 'testnet' | 'mainnet' | 'devnet'

const configOf = (environment: Environment) => ({
  config: readConfig({
    ENVIRONMENT: environment === 'mainnet' ? 'mainnet' : 'testnet',
    DEVNET: String(environment === 'devnet'),
    DATABASE_URL: 'postgres://localhost/none',
    SERVICE_KEY: 'fd:3',
    PUBLIC_BASE_URL: 'https://login.example.org',
  }),
})
const id = '3a2ee470-25c4-478d-853c-7902aa8dd9a8'
const allowedOrigins = ['https://app.example.com', 'http://intranet.example.com:8080']

/** The address, or the sentence of the refusal. */
const readIn = (environment: Environment, returnAddresses: readonly string[], text: string): string => {
  try {
    return readReturnAddress(configOf(environment), { id, allowedOrigins, returnAddresses: [...returnAddresses] }, text)
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_input') return error.message
    throw error
  }
}
const read = (text: string, environment: Environment = 'testnet') => readIn(environment, [], text)

const NOT_AT_AN_ORIGIN =
  'The parameter redirect_uri must be a URL without a fragment, at an origin that the project allows.'
const NOT_IN_THE_LIST =
  "The parameter redirect_uri must be one of the project's return addresses, and equal to it in every character."

describe('a return address of a project without a list, on testnet,', () => {
  test('may be any page of an origin that the project allows', () => {
    for (const address of [
      'https://app.example.com/',
      'https://app.example.com/after/login?from=here&b=%20',
      'http://intranet.example.com:8080/x',
    ]) {
      expect(read(address)).toBe(address)
    }
    expect(read('https://app.example.com')).toBe('https://app.example.com/')
    expect(read('https://APP.example.com:443/a/../b')).toBe('https://app.example.com/b')
  })

  test('may be nothing else', () => {
    for (const address of [
      '',
      '/after',
      '//app.example.com/',
      'app.example.com',
      'https://evil.example/',
      'http://app.example.com/',
      'https://app.example.com:8443/',
      'https://app.example.com.evil.example/',
      'https://evil.example/https://app.example.com/',
      'https://app.example.com@evil.example/',
      'https://user@app.example.com/',
      'https://:secret@app.example.com/',
      'https://evil.example\\@app.example.com/',
      'https://app.example.com/#',
      'https://app.example.com/#session_challenge_code=mine',
      'blob:https://app.example.com/5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
      'javascript:alert(1)//https://app.example.com',
      'data:text/html,x',
      'file:///etc/passwd',
      'https://login.example.org/login',
      'http://localhost:5173/',
      `https://app.example.com/${'a'.repeat(2_048)}`,
    ]) {
      expect([address, read(address)]).toEqual([address, NOT_AT_AN_ORIGIN])
    }
  })

  test('may in a devnet have any local port, but not a host that only looks local', () => {
    expect(read('http://localhost:5173/after', 'devnet')).toBe('http://localhost:5173/after')
    for (const address of [
      'http://localhost.evil.example/',
      'http://evil.localhost/',
      'http://localhost@evil.example/',
    ]) {
      expect([address, read(address, 'devnet')]).toEqual([address, NOT_AT_AN_ORIGIN])
    }
  })
})

test('a project without a list has no return address on mainnet, and the error names the command', () => {
  for (const address of ['https://app.example.com/', 'https://evil.example/', '']) {
    expect(read(address, 'mainnet')).toBe(
      `The project has no return addresses, so redirect_uri is refused. The operator adds one with: bun run cli project return-addresses add ${id} <address>`,
    )
  }
})

describe('a return address of a project with a list', () => {
  const AFTER = 'https://app.example.com/after?from=login'
  const list = [
    AFTER,
    'https://other.example/',
    'http://127.0.0.1/callback',
    'http://[::1]:8000/',
    'http://localhost/x',
  ]

  test.each(['testnet', 'mainnet', 'devnet'] as const)('is an entry of it, on %s', (environment) => {
    for (const address of list) expect(readIn(environment, list, address)).toBe(address)
  })

  test('may differ from an entry in nothing', () => {
    for (const address of [
      '',
      'https://app.example.com/',
      'https://app.example.com/after',
      'https://app.example.com/after/?from=login',
      'https://app.example.com/after?from=login/',
      'https://app.example.com/after?from=login&to=https://evil.example/',
      'https://app.example.com/after?from=Login',
      'https://app.example.com/After?from=login',
      'https://app.example.com/after?from=%6Cogin',
      'https://app.example.com/x/../after?from=login',
      'https://app.example.com/after/..?from=login',
      'https://APP.example.com/after?from=login',
      'HTTPS://app.example.com/after?from=login',
      'https://app.example.com:443/after?from=login',
      'https://app.example.com:8443/after?from=login',
      'https://app.example.com./after?from=login',
      'http://app.example.com/after?from=login',
      'https://user@app.example.com/after?from=login',
      `${AFTER}#`,
      `${AFTER}#x`,
      ` ${AFTER}`,
      `${AFTER}\n`,
      `${AFTER} https://other.example/`,
      'https://other.example',
      'https://other.example/?',
      'https://other.example//',
      'https://evil.example/?https://other.example/',
    ]) {
      for (const environment of ['testnet', 'devnet'] as const) {
        expect([address, readIn(environment, list, address)]).toEqual([address, NOT_IN_THE_LIST])
      }
    }
  })

  test('may have another port than its entry if the host is a loopback address, and differ in nothing else', () => {
    for (const address of [
      'http://127.0.0.1:51004/callback',
      'http://[::1]:51004/',
      'http://[::1]/',
      'http://127.0.0.1:80/callback',
    ]) {
      expect(readIn('mainnet', list, address)).toBe(new URL(address).href)
    }
    for (const address of [
      'http://127.0.0.1:51004/',
      'http://127.0.0.1:51004/callback/',
      'http://127.0.0.1:51004/callback?x',
      'https://127.0.0.1:51004/callback',
      'http://127.0.0.2:51004/callback',
      'http://127.0.0.1:510040/callback',
      'http://127.0.0.1:/callback',
      'http://127.0.0.1:1@evil.example/callback',
      'http://127.0.0.1.evil.example:51004/callback',
      'http://127.1:51004/callback',
      'http://[::ffff:127.0.0.1]:51004/callback',
      'http://localhost:51004/x',
    ]) {
      expect([address, readIn('mainnet', list, address)]).toEqual([address, NOT_IN_THE_LIST])
    }
  })
})

test('an entry of the list is a whole URL as browsers write it, by https or on the machine itself', () => {
  for (const address of [
    'https://app.example.com/',
    'https://app.example.com:8443/after?from=here&b=%20',
    'https://xn--bcher-kva.example/',
    'http://127.0.0.1/callback',
    'http://[::1]:8000/',
    'http://localhost:5173/after',
    `https://app.example.com/${'a'.repeat(488)}`,
  ]) {
    expect([address, isReturnAddress(address)]).toEqual([address, true])
  }
  for (const address of [
    '',
    '*',
    '/after',
    'app.example.com/after',
    'https://app.example.com',
    'https://APP.example.com/',
    'https://app.example.com:443/',
    'https://app.example.com/a/../b',
    'https://app.example.com/a b',
    'https://bücher.example/',
    'https://app.example.com/#',
    'https://app.example.com/#after',
    'https://user@app.example.com/',
    'http://app.example.com/',
    'http://127.0.0.2/',
    'http://localhost.example.com/',
    'myapp:/callback',
    'javascript:alert(1)',
    `https://app.example.com/${'a'.repeat(489)}`,
  ]) {
    expect([address, isReturnAddress(address)]).toEqual([address, false])
  }
})
