import { expect, test } from 'bun:test'
import { createProgress } from '../../devnet/progress.ts'
import { longTest } from '../support/long.ts'

/** The lines that are told, and a promise of the first that has a text. */
const listen = () => {
  const lines: string[] = []
  let wake = () => {}
  const progress = createProgress((line) => {
    lines.push(line.trim())
    wake()
  })
  const lineWith = async (text: string, from = 0): Promise<string> => {
    for (;;) {
      const found = lines.slice(from).find((line) => line.includes(text))
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { progress, lines, lineWith }
}

longTest(
  'prints every few seconds what it still waits for, and each finished step',
  async () => {
    const { progress, lines, lineWith } = listen()
    const [quick, slow] = [Promise.withResolvers<number>(), Promise.withResolvers<string>()]
    try {
      const first = progress.step('PostgreSQL', () => quick.promise)
      const second = progress.step('Ethereum', () => slow.promise)
      expect(await lineWith('still')).toMatch(
        /^\d+\.\d s {2}still waiting for: PostgreSQL \(for \d+\.\d s\), Ethereum \(for \d+\.\d s\)$/,
      )
      quick.resolve(5432)
      expect(await first).toBe(5432)
      expect(await lineWith('PostgreSQL after')).toMatch(/^\d+\.\d s {2}PostgreSQL after \d+\.\d s$/)
      expect(await lineWith('still', lines.length)).toMatch(/still waiting for: Ethereum \(for \d+\.\d s\)$/)
      slow.resolve('well')
      expect(await second).toBe('well')
    } finally {
      progress.end()
    }
  },
  60_000,
)

test('a step that fails is not printed as done, and fails', async () => {
  const { progress, lines } = listen()
  try {
    await expect(progress.step('Polygon', () => Promise.reject(new Error('no node')))).rejects.toThrow('no node')
    expect(lines).toEqual([])
  } finally {
    progress.end()
  }
})
