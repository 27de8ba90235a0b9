// Which return addresses are allowed after login, with a full list of those that are refused.

import { describe, expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { readReturnAddress } from '../../src/login/open.ts'

const configOf = (devnet: boolean) => ({
  config: readConfig({
    ENVIRONMENT: 'testnet',
    DEVNET: String(devnet),
    DATABASE_URL: 'postgres://localhost/none',
    SERVICE_KEY: 'fd:3',
    PUBLIC_BASE_URL: 'https://login.example.org',
  }),
})
const project = { allowedOrigins: ['https://app.example.com', 'http://intranet.example.com:8080'] }
const read = (text: string, devnet = false) => readReturnAddress(configOf(devnet), project, text)

describe('a return address', () => {
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
      expect([address, read(address)]).toEqual([address, null])
    }
  })

  test('may in a devnet have any local port, but not a host that only looks local', () => {
    expect(read('http://localhost:5173/after', true)).toBe('http://localhost:5173/after')
    for (const address of [
      'http://localhost.evil.example/',
      'http://evil.localhost/',
      'http://localhost@evil.example/',
    ]) {
      expect([address, read(address, true)]).toEqual([address, null])
    }
  })
})
