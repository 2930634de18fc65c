import { readFileSync } from 'node:fs'
import path from 'node:path'
import { DOMParser } from '@xmldom/xmldom'
import { describe, expect, it } from 'vitest'
import { drawRecording } from '../../../scripts/support/recording.js'

const ROOT = path.join(import.meta.dirname, '..', '..', '..')

const textsOf = (svg: string): (string | null)[] => {
  const onError = (_: unknown, message: string) => {
    throw new Error(message)
  }
  const root = new DOMParser({ onError }).parseFromString(svg, 'text/xml')
  return [...root.getElementsByTagName('text')].map(({ textContent }) => textContent)
}

describe('a recording', () => {
  it('a recording shows each line and its time', () => {
    const svg = drawRecording('a & b', [
      { text: '$ run <this> & that', atMs: 0 },
      { text: '✓ done', atMs: 1234 },
    ])
    expect(textsOf(svg)).toEqual(['$ run <this> & that', '✓ done'])
    expect(svg).toContain('aria-label="a &amp; b"')
    expect(svg).toContain('class="good" y="45" style="animation-duration:1.23s"')
  })

  it('a recording truncates lines that are wider than the image', () => {
    const [text] = textsOf(drawRecording('wide', [{ text: 'x'.repeat(500), atMs: 0 }]))
    expect(text).toMatch(/^x{111}…$/)
  })

  it('the recording of the README ends with the measured values and contains no local path', () => {
    const texts = textsOf(readFileSync(path.join(ROOT, 'docs', 'drill.svg'), 'utf8')).join('\n')
    expect(texts).toMatch(/^RTO .* RPO 0 writes ✓ {2}tokens 3\/3 ✓$/m)
    expect(texts).not.toMatch(/\/tmp\/|\/root\/|\/home\//)
  })
})
