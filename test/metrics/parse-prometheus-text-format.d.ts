declare module 'parse-prometheus-text-format' {
  type Family = {
    readonly name: string
    readonly help: string
    readonly type: string
    readonly metrics: readonly Record<string, unknown>[]
  }
  export default function parse(text: string): readonly Family[]
}
