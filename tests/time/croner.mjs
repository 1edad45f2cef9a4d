// SPDX-License-Identifier: MIT
//
// Judges what test_time_croner printed: see croner.sh.
import { Cron } from "croner";
import { createInterface } from "node:readline";

// What croner reads in another way, and the standard as we do:
//   steps over all years begin at its own first year (OCPS 1.4, 4.3.2)
//   a list with a star in a day field counts as a star (OCPS 1.0, 6.1: "not *")
//   0-SUN is the whole week (0 or 7: the standard leaves it open)
const isOther = (pattern) => {
    const fields = pattern.trim().split(/[ \t]+/);
    const first = fields.length > 5 ? 1 : 0;
    const listed = (field) => field.includes("*") && field.includes(",");
    return (fields.length === 7 && fields[6].includes("*/")) ||
        listed(fields[2 + first]) || listed(fields[4 + first]) ||
        /(0|sun)-sun/i.test(fields[4 + first]);
};

let other = 0, judged = 0, refused = 0, wrong = 0;
const seconds = (run) => (run ? String(Math.floor(run.getTime() / 1000)) : "-");

for await (const line of createInterface({ input: process.stdin })) {
    const [pattern, at, ...ours] = line.split("|");
    if (isOther(pattern)) {
        other++;
        continue;
    }
    const from = new Date(Number(at) * 1000);
    let cron, theirs = [], last = from;
    try {
        cron = new Cron(pattern, { timezone: "UTC", paused: true });
    } catch (error) {
        refused++;
        console.log(`refused: ${pattern}: ${error.message}`);
        continue;
    }
    for (let i = 0; i < 3; i++) {
        last = last && cron.nextRun(last);
        theirs.push(seconds(last));
    }
    theirs.push(seconds(cron.previousRuns(1, from)[0]));
    judged++;
    for (let i = 0; i < theirs.length; i++) {
        // Years before 1970 and above 2199 are none of ours.
        if (Number(theirs[i]) >= 7258118400 || Number(theirs[i]) < 0) theirs[i] = "-";
        if (theirs[i] !== ours[i]) {
            wrong++;
            console.log(`${pattern} from ${from.toISOString()}, match ${i + 1}: ${ours[i]}, croner: ${theirs[i]}`);
            break;
        }
    }
}
console.log(`${judged} patterns judged, ${other} left out, ${refused} refused by croner, ${wrong} different`);
process.exit(wrong || refused || !judged ? 1 : 0);
