import type { PagePlan } from '../../lab/web/page-facts.js'
import { Copy } from '../copy.js'
import { ShellLine } from '../shell-line.js'

/** What would be done, and the lines of a shell that do it by hand. */
export const PlanView = ({ plan: { title, consequence, command, lines } }: { readonly plan: PagePlan }) => (
  <div class="plan">
    <p>
      <strong>{`${title.charAt(0).toUpperCase()}${title.slice(1)}?`}</strong> {consequence}
    </p>
    {command !== null && (
      <div class="command">
        <ShellLine text={command} />
        <Copy command={command} />
      </div>
    )}
    {lines.length > 0 && (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by the keys
      <ol tabIndex={0} aria-label="what it does, one after the other">
        {lines.map((line, index) => (
          <li key={index}>
            <ShellLine text={line} />
          </li>
        ))}
      </ol>
    )}
  </div>
)
